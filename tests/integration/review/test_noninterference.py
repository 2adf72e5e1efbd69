"""Two worlds with different secrets give the same blinded items.

They differ only in sources, verdicts, judge's evidence and decimals of hours. Every address that a
reviewer can reach gives the same bytes, in any other role too, except tokens.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import unified_diff
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import Role
from adjudication.blinding.visibility import BlindedItem
from adjudication.judge_runs import actions
from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import Candidate, Judged, JudgeInput
from adjudication.judging.validation import validate_findings
from adjudication.models import Assignment, Finding, Game, Packet, PacketItem, PairSearch
from adjudication.packets import actions as packets
from adjudication.packets.searches import assign_search, find_searchable_games
from adjudication.review import slots
from adjudication.review.items import blind_item, load_blinded_rows
from adjudication.sampling.drawing import Design
from tests import factories
from tests.unit.adjudication.judging.judge_games import FIRST, SECOND, find_row, make_raw
from tests.worlds.judged import FixedJudge, make_case, use_judge
from tests.worlds.two_worlds import (
    Answers,
    FewerFindings,
    World,
    WorldVariation,
    build,
    item_id,
    walk,
)
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class WordyJudge:
    """Reports the same rows in both worlds; all its other words differ."""

    verdict: str
    evidence: bool
    reason: str
    name: str = "teller"
    version: str = "1"

    def judge(self, given: JudgeInput) -> Judged:
        note: dict[str, Any] = (
            {"grounding": "NOTE", "note_evidence": "Fever for three days"} if self.evidence else {}
        )
        table: dict[str, Any] = (
            {"grounding": "TABLE", "table_evidence": "lab:lactate:: = 2.0 mmol/L @ 18h"}
            if self.evidence
            else {}
        )
        said: dict[str, Any] = {"reason": self.reason}
        fever = find_row(given, "fever", first=True), find_row(given, "fever", first=False)
        hip = (
            find_row(given, "fractured hip", first=True),
            find_row(given, "fractured hip", first=False),
        )
        lactate = (
            find_row(given, "lactate 2.0", first=True),
            find_row(given, "lactate 2.0", first=False),
        )
        pain = find_row(given, "no chest pain", first=True)
        rash = find_row(given, r"rash \| resolved", first=True, at=1)
        findings = [
            make_raw(given, "TIMING", fever[0], fever[1], self.verdict, **said, **note),
            make_raw(
                given, "VALUE" if self.evidence else "TIMING", hip[0], hip[1], self.verdict, **said
            ),
            make_raw(
                given,
                "TIMING",
                lactate[0],
                lactate[1],
                "UNCLEAR" if self.evidence else self.verdict,
                **said,
                **table,
            ),
            make_raw(
                given,
                "FIRST_ONLY",
                pain,
                None,
                self.verdict,
                **said,
                **note,
                polarity="absent" if self.evidence else "present",
            ),
            make_raw(given, "DUPLICATE", rash, None, self.verdict, **said),
        ]
        return Judged(tuple(validate_findings(findings, given)), len(given.series))


def add_decimals(rows: Sequence[Candidate], by: float) -> list[Candidate]:
    """The same in whole hours."""
    return [replace(c, time=None if c.time is None else round(c.time) + by) for c in rows]


@dataclass(frozen=True)
class Seen:
    """Everything of a packet that its reviewer sees.

    All items in order, the rows of each item's third series, and every response of the server.
    """

    items: list[BlindedItem]
    rows: list[object]
    answers: list[tuple[str, int, str, str]]


def world(names: tuple[str, str], teller: WordyJudge, decimals: float, case_id: str) -> Seen:
    """Ids of items and seeds are set alike."""
    dataset = factories.make_dataset(factories.make_study(f"Study of {case_id}"))
    sources: dict[str, Sequence[Candidate]] = {
        names[0]: add_decimals(FIRST, decimals),
        names[1]: add_decimals(SECOND, -decimals),
    }
    make_case(dataset, case_id, sources)
    keys = [SourceKey(name, TimelineKind.REVISED.value, 1) for name in names]
    with use_judge(teller):  # type: ignore[arg-type]
        run = actions.start_judging(
            study=dataset.study,
            datasets=[dataset],
            sources=keys,
            config=JudgeConfig(),
            by=None,
            tell_workers=False,
        )
        Game.objects.filter(run=run).update(seed=5)
        for pk in Game.objects.filter(run=run).values_list("pk", flat=True):
            actions.execute_game(pk)
    admin, person = (
        factories.make_user(dataset.study, Role.ADMIN),
        factories.make_user(dataset.study, Role.REVIEWER, username=f"reviewer-of-{case_id}"),
    )
    quotas = {"TIMING decisive": 9, "TIMING UNCLEAR": 9, "one-sided": 9, "DUPLICATE": 9, "VALUE": 9}
    design = Design(pairings=packets.list_pairings(run), quotas=quotas)
    packet = packets.draw_packet(
        study=dataset.study, judge_run=run, label="P", design=design, seed=1, by=admin
    )
    for item in packet.items.select_related("finding"):
        PacketItem.objects.filter(pk=item.pk).update(public_id=item_id(item.finding.ordinal))
    assignment = packets.assign(packet=packet, person=person, by=admin, seed=11)
    packets.open_packet(packet=packet, by=admin)
    order = order_items(packet, assignment)
    shown = [blind_item(assignment=assignment, item=item) for item in order]
    rows = [load_blinded_rows(item=item, number=2) for item in order]
    Assignment.objects.filter(pk=assignment.pk).update(practised_at=packet.created_at)
    game = find_searchable_games(packet)[0]
    search = assign_search(assignment=assignment, game=game, by=admin)
    PairSearch.objects.filter(pk=search.pk).update(public_id=SEARCH)
    return Seen(shown, list(rows), list(walk_review(assignment, order)))


#: The public id of the search of the pair.
SEARCH = "searchpartwx"
#: What differs at each request, independent of the page: tokens against forgery, the nonce of the
#: content security policy.
TOKENS = re.compile(
    r"(?<=csrfmiddlewaretoken\" value=\")\w+|(?<=X-CSRFToken\": \")\w+|(?<=nonce-)[\w+/=-]+|(?<=nonce=\")[\w+/=-]+"
)


def walk_review(
    assignment: Assignment, order: list[PacketItem]
) -> Iterator[tuple[str, int, str, str]]:
    """Yield each response of a whole review over HTTP, up to the signature.

    A response is (address, status, headers, body), with own tokens replaced.
    """
    client = Client()
    client.force_login(assignment.person)
    base = f"/review/{assignment.public_id}/"
    own = {
        assignment.public_id: "ASSIGNMENT",
        assignment.packet.public_id: "PACKET",
        assignment.packet.study.name: "STUDY",
        assignment.person.get_username(): "PERSON",
    }

    def ask(
        path: str, body: object = None, *, form: Mapping[str, str] | None = None
    ) -> tuple[str, int, str, str]:
        answer = (
            client.post(path, form)
            if form is not None
            else client.get(path)
            if body is None
            else client.post(path, json.dumps(body), content_type="application/json")
        )
        headers = "\n".join(
            f"{k}: {v}" for k, v in sorted(answer.items()) if k not in ("Set-Cookie", "Expires")
        )
        texts = [path, headers, answer.content.decode()]
        for token, words in own.items():
            texts = [text.replace(token, words) for text in texts]
        path, headers, content = (TOKENS.sub("TOKEN", text) for text in texts)
        return path, answer.status_code, headers, content

    for name in ("", "item/", "answers/", "check/", "sign/", "practice/", "practice/1/"):
        yield ask(f"{base}{name}")
    yield ask("/review/")
    yield ask("/")
    yield from search_pair(ask, f"{base}searches/{SEARCH}/")
    for number, item in enumerate(order):
        address = f"{base}items/{item.public_id}/"
        yield ask(address)
        yield ask(f"{address}series/1/", {})
        yield ask(f"{address}timelines/", {})
        yield ask(f"{address}note/", {"token": f"n{number}", "text": "a note"})
        yield ask(f"{address}draft/", {"answer": "B", "comment": "a thought"})
        yield ask(
            f"{address}decide/",
            {"token": f"t{number}", "answer": "A", "flagged": number == 1, "active_seconds": 5},
        )
        yield ask(f"{base}next/", {"besides": []})
    yield ask(f"{base}undo/", {"token": "back"})
    for name in ("", "answers/", "check/", "item/", "sign/", "items/nothing/"):
        yield ask(f"{base}{name}")


def search_pair(
    ask: Callable[..., tuple[str, int, str, str]], address: str
) -> Iterator[tuple[str, int, str, str]]:
    """Yield each response of a search of the pair, up to its submission."""
    yield ask(address)
    for form in (
        {"do": "add", "kind": "only", "a": "1", "words": "a thought"},
        {"do": "add", "kind": "times", "a": "2", "b": "3", "time": "5"},
        {"do": "add", "kind": "times", "a": "99", "b": "3"},
        {"do": "remove", "number": "1"},
    ):
        yield ask(address, form=form)
        yield ask(address)
    yield ask(address, form={"do": "submit"})
    yield ask(address)


def order_items(packet: Packet, assignment: Assignment) -> list[PacketItem]:
    found = []
    while (slot := slots.next_item(assignment=assignment)) is not None:
        found.append(slot.item)
        slots.skip(assignment=assignment, item=slot.item)
        if len(found) == packet.items.count():
            break
    return found


def test_what_a_reviewer_sees_depends_on_neither_sources_nor_judge():
    one = world(
        ("rules", "llm"), WordyJudge("FIRST", True, "rules had the evidence"), 0.0, "case-one"
    )
    first_findings = list(Finding.objects.values_list("type", "verdict", "grounding", "reason"))
    free_ids()
    other = world(
        ("tkw2", "author:nova"), WordyJudge("SECOND", False, "nova is right"), 0.37, "case-two"
    )
    assert set(Finding.objects.values_list("type", "verdict", "grounding", "reason")) - set(
        first_findings
    )
    assert len(one.items) == 5
    assert one.items == other.items
    assert repr([asdict(item) for item in one.items]) == repr(
        [asdict(item) for item in other.items]
    )
    assert one.rows == other.rows
    assert sum(status == 200 for _, status, _, _ in one.answers) > 30
    for mine, theirs in zip(one.answers, other.answers, strict=True):
        assert mine == theirs


def free_ids() -> None:
    """Let the second world use the same ids: an id's look is no content."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table in ("packetitem", "pairsearch"):
            cursor.execute(
                f"UPDATE adjudication_{table} SET public_id = 'x' || substr(public_id, 2)"
            )
        cursor.execute("SET session_replication_role = origin")


ONE = WorldVariation(
    ("alpha", "beta"),
    {
        "varied": WordyJudge("FIRST", True, "alpha had the evidence"),
        "mixed": FixedJudge(),
        "copied": FixedJudge(),
    },
    0.0,
    2,
    ("succeeded",) * 5,
    1,
    10,
)
OTHER = WorldVariation(
    ("gamma", "author:delta"),
    {
        "varied": WordyJudge("SECOND", False, "delta is right"),
        "mixed": FixedJudge(refuse=frozenset(range(99))),
        "copied": FewerFindings(fever="SECOND"),
    },
    0.37,
    4,
    ("succeeded", "succeeded", "failed", "queued", "blocked"),
    2,
    77,
    ("attempt 1: 7 rows are unknown",),
)
#: What the two must have opened, so that the comparison is of pages and not of refusals.
OPENED = {
    "home", "accounts:audit_trail", "ehr:record", "timelines:cases", "timelines:case", "timelines:chain", "timelines:runs", "timelines:run",
    "timelines:case_export", "timelines_api:case_export", "timelines_api:cases", "timelines_api:case_timelines", "timelines_api:entries",
    "timelines_api:chain", "timelines_api:runs", "timelines_api:run", "timelines_api:run_cases", "timelines_api:run_timelines",
    "timelines_api:evaluations", "timelines_api:evaluation", "timelines_api:corrections", "timelines_api:run_choices",
    "ehr_api:datasets", "ehr_api:dataset", "ehr_api:case", "ehr_api:notes", "ehr_api:note", "ehr_api:series", "ehr_api:rows",
    "accounts_api:studies", "accounts_api:audit_trail",
    "cohorts_api:concepts", "cohorts_api:concept", "cohorts_api:concept_members", "cohorts_api:windows", "cohorts_api:window",
    "cohorts_api:window_results", "cohorts_api:window_result", "cohorts_api:window_members", "cohorts_api:window_result_csv",
    "cohorts_api:case_as_of", "cohorts_api:as_of_reports", "cohorts_api:leakage_checks", "cohorts_api:trajectories",
    "cohorts_api:trajectory", "cohorts_api:trajectory_table", "cohorts_api:attention", "cohorts_api:unexplained",
    "timelines:run_calls", "timelines:case_calls", "timelines:model_call", "timelines:run_new", "timelines:authorings",
    "timelines:evaluations", "timelines:evaluation", "timelines:evaluation_case", "timelines:evaluation_new", "adjudication:judge_runs",
    "timelines:evaluation_funnel",
    "adjudication:judge_run", "adjudication:judge_run_calls", "adjudication:judge_game", "adjudication:judge_call",
    "adjudication:findings", "adjudication:finding", "adjudication:compare", "adjudication:dashboard", "adjudication:judge_changes",
    "adjudication:findings_download", "adjudication:packets", "adjudication:packet_new", "adjudication:review_item",
    "adjudication_api:judge_runs", "adjudication_api:findings", "adjudication_api:packet_eligible", "admin:timelines_run_changelist",
    "admin:timelines_stagerun_changelist", "admin:accounts_auditevent_changelist",
}  # fmt: skip
#: What the short walk cannot open: pages of admins, and an evaluation of a third case.
NOT_IN_SHORT_WALK = {
    "accounts:audit_trail", "adjudication:packet_new", "adjudication:packets", "adjudication_api:packet_eligible",
    "admin:accounts_auditevent_changelist", "admin:timelines_run_changelist", "admin:timelines_stagerun_changelist",
    "timelines:evaluation_case", "timelines:evaluation_new", "timelines:run_new",
    "accounts_api:audit_trail", "timelines_api:run_choices",
}  # fmt: skip


@pytest.mark.timeout(900)
def test_nothing_that_a_reviewer_and_clinician_reaches_depends_on_what_was_made_of_the_case(
    quiet: None,
):
    """A clinician who reviews sees the same at every address."""
    seen = []
    for variation in (ONE, OTHER):
        world = build(variation)
        clinician = walk(world, world.people["clinician"], links=0, each=2)
        seen.append(Walked(world, {"clinician": clinician}))
    check_worlds_differ(*seen)
    check_same_answers(*seen)
    assert OPENED - NOT_IN_SHORT_WALK - seen[0].by["clinician"].opened == set()


@pytest.mark.timeout(900)
@pytest.mark.deep
@pytest.mark.parametrize("twice", [False, True])
def test_nothing_that_a_reviewer_reaches_depends_on_what_was_made_of_the_case(
    twice: bool, quiet: None
):
    """A clinician and a superuser with every role see the same in both worlds.

    Their packet has findings of one of three cases. Unless both walk everywhere (`twice`), the
    second one requests only what the first one cannot open, and home.
    """
    seen = []
    for variation in (ONE, OTHER):
        world = build(variation)
        clinician = walk(world, world.people["clinician"])
        besides = (
            () if twice else clinician.opened - {"home", "accounts:study", "timelines:authorings"}
        )
        admin = walk(world, world.people["admin"], besides=besides)
        seen.append(Walked(world, {"clinician": clinician, "admin": admin}))
    check_worlds_differ(*seen)
    check_same_answers(*seen)
    by = seen[0].by
    assert OPENED - by["clinician"].opened - by["admin"].opened == set()
    assert OPENED - NOT_IN_SHORT_WALK - by["clinician"].opened == set()


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log nothing: two thousand requests are not worth a line each."""
    monkeypatch.setattr(logging.root.manager, "disable", logging.INFO)


@dataclass(frozen=True)
class Walked:
    """A world, and what each person received in it."""

    world: World
    by: dict[str, Answers]


def check_worlds_differ(one: Walked, other: Walked) -> None:
    """Check that every fact differs.

    Otherwise equal pages would prove nothing.
    """
    first, second = one.world.facts, other.world.facts
    assert set(first) == set(second)
    assert [name for name in first if first[name] == second[name]] == []


def check_same_answers(one: Walked, other: Walked) -> None:
    """Check that everybody received the same bytes in both worlds."""
    differences = []
    for role in one.by:
        first, second = one.by[role].found, other.by[role].found
        differences += [
            f"{role}, in one world alone: {key}" for key in sorted(set(first) ^ set(second))
        ]
        differences += [
            f"{role}, {format_difference(key, first[key], second[key])}"
            for key in sorted(set(first) & set(second))
            if first[key] != second[key]
        ]
    assert not differences, f"{len(differences)} addresses differ\n" + "\n".join(differences)


def format_difference(
    key: tuple[str, str], one: set[tuple[int, str]], other: set[tuple[int, str]]
) -> str:
    """Return the differences of an address's responses in a few lines."""
    first, second = (
        "\n".join(f"{status} {body}" for status, body in sorted(found)).splitlines()
        for found in (one, other)
    )
    lines = [
        line
        for line in unified_diff(first, second, lineterm="", n=0)
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    return f"{key}: " + " / ".join(line[:300] for line in lines[:6])
