"""No address reveals the sources to reviewers of an open packet.

Secrets are planted where the application stores them: names of sources, of the judge and of its
run, the judge's reasons and evidence, colleagues' names, comments and own times. Then every pattern
of the URLconf is requested, with the ids of everything that exists, by GET and by POST, as a page
and as htmx asks for it. No byte, header, cookie or file name may contain a secret.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, product
from typing import Any

import pytest
from django.conf import settings
from django.db.models import F
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from accounts.models import Role, User
from adjudication.models import (
    Assignment,
    Finding,
    Game,
    PacketItem,
    PairSearch,
    PlantedRecall,
    Recipe,
    RecipeLaunch,
    Slot,
)
from adjudication.packets import actions as packets
from adjudication.packets.searches import assign_search, find_searchable_games
from adjudication.review import decisions, notes, slots
from adjudication.review.searches import Listed, add_difference, submit_search
from tests import factories
from tests.marks import deep
from tests.worlds.judged import FixedJudge, make_judged_run, make_judged_world
from tests.worlds.reviewing import Review, add_reviewer, make_design, make_token
from tests.worlds.two_worlds import make_launch
from timelines.models import Timeline

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

JUDGE = FixedJudge(name="zqjudgename", version="zqjudgeversion")
#: Of the judge's answer and of colleagues: for no reviewer, in any other role too.
ANSWERS = (
    "the stand-in says so",
    "= 4.1 mmol/l @ 0h",
    "zqcolleaguecomment",
    "4242.25",
    "zqcolleaguereason",
    "zqcolleaguedraft",
    "zqcolleaguesearch",
    "zqcolleaguenote",
)
#: Who wrote what, who judged, who else reviews, and the words for kinds of findings: for nobody who
#: is a blinded reviewer alone.
SOURCES = (
    "author:vega",
    "rules-orion",
    "llm-lyra",
    "zqjudgename",
    "zqjudgeversion",
    "zqrunlabel",
    "zqcolleaguename",
)
KINDS = (
    "timing decisive", "timing unclear", "one-sided", "shared_unsupported", "a_only", "b_only", "over_annotation", "wrong_time",
    "false_duplicate", "missed_positive", "novel_event", "added_detail", "grounding",
)  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """One answer of the server."""

    name: str
    method: str
    path: str
    status: int
    content: bytes
    headers: str

    def find_secrets(self, secrets: Iterable[str]) -> list[str]:
        """Return the secrets in the response, in plain or base64.

        Case is ignored, and base64 may begin at any byte.
        """
        text = self.content.lower() + b"\n" + self.headers.lower().encode()
        return [secret for secret in secrets if any(form in text for form in forms(secret))]


@cache
def forms(secret: str) -> tuple[bytes, ...]:
    coded = (base64.b64encode(b" " * n + secret.encode())[4 * (n > 0) : -4] for n in range(3))
    return (secret.encode(), *(c.lower() for c in coded if len(c) >= 8))


@pytest.fixture
def review() -> Review:
    """Return a packet with two reviewers an item.

    One colleague has decided on everything, with comments; a third person is in it too.
    """
    world = make_judged_world(1)
    run = make_judged_run(world.dataset, JUDGE, label="zqrunlabel")
    admin = factories.make_user(world.study, Role.ADMIN)
    packet = packets.draw_packet(
        study=world.study,
        judge_run=run,
        label="Packet",
        design=make_design(replace(world, run=run), per_item=2),
        seed=3,
        by=admin,
    )
    made = Review(replace(world, run=run), packet, admin)
    colleague = add_reviewer(made, username="zqcolleaguename")
    add_reviewer(made)
    add_reviewer(made, role="adjudicator")
    make_launch(world.study, run, "zqrunlabel")
    packets.open_packet(packet=packet, by=admin)
    search_pairs(made)
    while (slot := slots.next_item(assignment=colleague)) is not None:
        decisions.decide(
            assignment=colleague, item=slot.item, answer="A", shown_swapped=False, token=make_token(), by=colleague.person,
            comment="zqcolleaguecomment", own_time=4242.25, flagged=True, active_seconds=1,
        )  # fmt: skip
    decisions.sign(assignment=colleague, password=factories.PASSWORD, by=colleague.person)
    decisions.unsign(assignment=colleague, reason="zqcolleaguereason", by=colleague.person)
    undone = decisions.undo(assignment=colleague, token=make_token(), by=colleague.person)
    assert undone is not None
    assert undone.undone.item is not None
    slots.save_draft(
        assignment=colleague,
        item=undone.undone.item,
        draft={"comment": "zqcolleaguedraft"},
        active_seconds=1,
    )
    return made


def search_pairs(review: Review) -> None:
    """Let two reviewers search a pair, and one write a note."""
    game = find_searchable_games(review.packet)[0]
    for assignment in review.assignments[:2]:
        search = assign_search(assignment=assignment, game=game, by=review.admin)
        if assignment is review.assignments[0]:
            entry = game.comparison.first.entries.latest("pk").pk
            listed = Listed("one-sided", entry, None, words="zqcolleaguesearch")
            add_difference(search=search, listed=listed, by=assignment.person)
        submit_search(search=search, by=assignment.person)
    first = review.assignments[0]
    notes.write_note(
        assignment=first,
        item=review.packet.items.latest("pk"),
        text="zqcolleaguenote",
        token="note",
        by=first.person,
    )


def also(review: Review) -> Assignment:
    """Add a superuser with every role to the open packet."""
    person = factories.make_user(review.study, *Role)
    User.objects.filter(pk=person.pk).update(is_superuser=True, is_staff=True)
    made = packets.assign(packet=review.packet, person=person, by=review.admin)
    Assignment.objects.filter(pk=made.pk).update(practised_at=review.packet.opened_at)
    return made


def answer_some(assignment: Assignment) -> None:
    """Decide on three items and skip one.

    There is then a history, a skipped and a flagged item, and a disagreement for the third person.
    """
    for number, answer in enumerate(("B", "UNCLEAR", "A")):
        slot = slots.next_item(assignment=assignment)
        assert slot is not None
        decisions.decide(
            assignment=assignment,
            item=slot.item,
            answer=answer,
            shown_swapped=False,
            token=make_token(),
            by=assignment.person,
            flagged=not number,
        )
    slot = slots.next_item(assignment=assignment)
    assert slot is not None
    slots.skip(assignment=assignment, item=slot.item)


# The walk


def patterns(
    resolver: URLResolver | None = None, namespace: str = ""
) -> Iterator[tuple[str, URLPattern]]:
    """Every named pattern of the URLconf with its full name."""
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns(
                entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            )
        elif entry.name:
            yield f"{namespace}{entry.name}", entry


def pool(review: Review, mine: Assignment) -> list[str]:
    """Return public ids of everything; own ones and the packet's first."""
    study, encounter = review.study, review.world.encounters[0]
    found = [
        mine.public_id,
        review.packet.public_id,
        review.world.run.public_id,
        encounter.public_id,
    ]
    found += review.packet.assignments.exclude(pk=mine.pk).values_list("public_id", flat=True)
    found += [study.public_id, review.world.dataset.public_id]
    found += Finding.objects.filter(
        items__packet=review.packet, table_evidence__isnull=False
    ).values_list("public_id", flat=True)[:1]
    found += Game.objects.filter(run=review.world.run).values_list("public_id", flat=True)[:1]
    found += review.world.run.__class__.objects.exclude(pk=review.world.run.pk).values_list(
        "public_id", flat=True
    )[:1]
    found += Timeline.objects.filter(encounter=encounter).values_list("public_id", flat=True)[:1]
    # One that may be decided, and one that is.
    own = Slot.objects.filter(assignment=mine).order_by(
        F("decision").asc(nulls_first=True), F("lease_expires_at").desc(nulls_last=True)
    )
    own_items = list(own.values_list("item__public_id", flat=True))
    found += [*own_items[:1], *own_items[-1:]]
    found += PairSearch.objects.filter(assignment=mine).values_list("public_id", flat=True)
    found += PacketItem.objects.filter(packet=review.packet).values_list("public_id", flat=True)[:1]
    for made in (Recipe, RecipeLaunch, PlantedRecall):
        found += made.objects.filter(study=study).values_list("public_id", flat=True)
    return list(dict.fromkeys(found))


KNOWN: Mapping[str, tuple[Any, ...]] = {
    "action": ("guess", "assign", "second", "changed", "search", "close", "again"),
    "format": ("csv", "jsonl", "json"),
    "form": ("csv", "jsonl"),
    "name": ("main", "ratings", "decisions"),
    "table": ("courses",),
    "uid4": ("a000",),
    "uid": ("a000",),
    "number": (0, 1),
    "mapping_id": (1,),
    "row": (0,),
    "row_index": (0,),
    "place": (1,),
    "series_id": (1,),
    "object_id": ("1",),
    "pk": ("1",),
    "secret": ("not-a-secret",),
    "app_label": ("timelines", "accounts"),
    "url": ("",),
    "content_type_id": (1,),
}
#: After how many refusals because of the role an address is given up in `make test`.
FORBIDDEN = 3
#: Number of ids to try as the first of two ids in an address: in `make test`, in `make test-deep`.
LEADING = (2, 4)


def addresses(name: str, pattern: URLPattern, ids: list[str], *, everything: bool) -> Iterator[str]:
    """Yield the pattern's address with every combination of ids.

    With `everything`, the other parameters come in every combination. Otherwise every value comes
    once, with the first id.
    """
    names = (
        list(pattern.pattern.regex.groupindex)
        if hasattr(pattern.pattern, "regex")
        else list(pattern.pattern.converters)
    )
    free = [n for n in names if n not in KNOWN]
    choices: list[Sequence[Any]] = [
        ids[: LEADING[everything]]
        if n in free and n == free[0] and len(free) > 1
        else KNOWN.get(n, ids)
        for n in names
    ]
    rounds = [choices]
    if not everything:
        rounds = [
            [
                c if n == varied or (varied is None and n in free) else c[:1]
                for n, c in zip(names, choices, strict=True)
            ]
            for varied in (None, *(n for n in names if n in KNOWN))
        ]
    for values in chain.from_iterable(product(*several) for several in rounds):
        with suppress(NoReverseMatch):  # a converter that does not take that value
            yield reverse(name, kwargs=dict(zip(names, values, strict=True)))


def walk(
    review: Review, mine: Assignment, *, post: bool, everything: bool = True
) -> Iterator[Reply]:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(pk=mine.person_id))
    ids = pool(review, mine)
    for name, pattern in patterns():
        # Which methods an address takes does not depend on its ids: a refused one is tried once.
        refused: set[str] = set()
        closed = 0
        for path in dict.fromkeys(addresses(name, pattern, ids, everything=everything)):
            if closed == FORBIDDEN and not everything:
                break
            posts = post or path.startswith(("/review/", "/api/review"))
            for got in visits(client, name, path, refused, post=posts):
                if got.status == 405:
                    refused.add(got.method)
                closed += got.status == 403 and got.method == "get"
                yield got
                if got.name in ("accounts:sign_out", "accounts:sign_in"):
                    client.force_login(User.objects.get(pk=mine.person_id))


def visits(
    client: Client, name: str, path: str, refused: set[str], *, post: bool
) -> Iterator[Reply]:
    """Every way in which an address is asked."""
    if "get" not in refused:
        got = send_request(client, name, "get", path)
        yield got
        if got.status == 200:
            yield send_request(client, name, "get", path, headers={"HX-Request": "true"})
            yield send_request(client, name, "get", f"{path}?text=1")
    if not post:
        return
    body = json.dumps({"token": make_token(), "answer": "A", "besides": []})
    if "post" not in refused:
        sent = send_request(client, name, "post", path, data=body, content_type="application/json")
        yield sent
        if sent.status not in (403, 404, 405):
            yield send_request(client, name, "post", path, data={"password": "wrong", "reason": ""})
    if "post" in refused and "put" not in refused:
        yield send_request(client, name, "put", path, data=body, content_type="application/json")


def send_request(client: Client, name: str, method: str, path: str, **how: Any) -> Reply:
    answer = getattr(client, method)(path, **how)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    headers = "\n".join(f"{k}: {v}" for k, v in answer.items()) + str(client.cookies)
    return Reply(name, method, path, answer.status_code, content, headers)


#: These describe all possible values, the same for everybody: names of kinds of findings are no
#: secret there.
DESCRIPTIONS = {"api-schema"}


def leaks(found: Iterable[Reply], secrets: Iterable[str]) -> tuple[list[str], Counter[str]]:
    """Return responses with a secret, and counts of pages or files by pattern."""
    wanted, leaked, opened = tuple(secrets), [], Counter[str]()
    for one in found:
        opened[one.name] += one.status == 200
        looked_for = (
            [secret for secret in wanted if secret not in KINDS]
            if one.name in DESCRIPTIONS
            else wanted
        )
        leaked += [
            f"{one.method} {one.path} ({one.status}): {secret}"
            for secret in one.find_secrets(looked_for)
        ]
    return leaked, opened


REVIEW_PAGES = {
    f"adjudication:review_{name}"
    for name in (
        "queue",
        "packet",
        "item",
        "next",
        "history",
        "chosen",
        "decide",
        "draft",
        "series",
        "timelines",
        "practice_case",
    )
} | {
    f"adjudication_api:{name}"
    for name in (
        "reviews",
        "review",
        "review_next",
        "review_item",
        "review_series",
        "review_timelines",
        "review_draft",
        "review_answers",
        "review_practice",
    )
}


#: Open to no one who reviews a packet of the study's only case, in any role.
CLOSED = {
    *(
        f"adjudication:{name}"
        for name in (
            "finding",
            "judge_game",
            "compare",
            "packet",
            "report_card",
            "report_table",
            "packet_download",
        )
    ),
    *(
        f"adjudication:{name}"
        for name in (
            "dashboard",
            "dashboard_table",
            "judge_run",
            "judge_run_calls",
            "findings",
            "packet_new",
        )
    ),
    *(f"adjudication:{name}" for name in ("judge_changes", "findings_download", "games_download")),
    *(f"adjudication:{name}" for name in ("recipes", "recipe", "recipe_edit", "recipe_download")),
    *(f"adjudication:{name}" for name in ("launch", "planted_recall", "study_report")),
    *(f"adjudication_api:{name}" for name in ("recipe", "launch", "planted_recall")),
    *(f"adjudication_api:{name}" for name in ("launch_report", "packet_searches", "packet_notes")),
    *(
        f"adjudication_api:{name}"
        for name in ("judge_run", "judge_games", "findings", "judge_changes", "packet_eligible")
    ),
    *(
        f"timelines:{name}"
        for name in ("case", "case_export", "occurrence", "chain", "agreement", "author_start")
    ),
    *(
        f"cohorts_api:{name}"
        for name in (
            "case_as_of",
            "as_of_report",
            "as_of_cells",
            "as_of_table",
            "concept_version",
            "concept_export",
            "leakage_check",
            "leakage_cells",
        )
    ),
    *(
        f"timelines_api:{name}"
        for name in ("case_timelines", "entries", "chain", "case_export", "corrections", "comments")
    ),
    *(
        f"adjudication_api:{name}"
        for name in ("finding", "judge_game", "judge_report", "judge_report_table", "comparison")
    ),
    *(
        f"adjudication_api:{name}"
        for name in ("packet", "packet_report", "packet_report_table", "packet_decisions")
    ),
}


@pytest.mark.parametrize(
    ("role", "everything"),
    [("reviewer", False), *deep(("reviewer", True), ("adjudicator", True))],
)
def test_a_blinded_reviewer_meets_no_secret_at_any_address(
    review: Review, role: str, *, everything: bool
) -> None:
    reviewer, third = review.assignments[1], review.assignments[2]
    answer_some(reviewer)
    mine = reviewer if role == "reviewer" else third
    assert slots.next_item(assignment=mine) is not None
    leaked, opened = leaks(
        walk(review, mine, post=everything, everything=everything), (*ANSWERS, *SOURCES, *KINDS)
    )
    assert leaked == []
    assert {name for name in REVIEW_PAGES if opened[name]} == REVIEW_PAGES
    assert {name for name, _ in patterns()} - set(opened) == set()


@pytest.mark.deep
def test_whoever_else_they_are_they_meet_neither_the_judges_nor_a_colleagues_answer(
    review: Review,
) -> None:
    leaked, opened = leaks(walk(review, also(review), post=False), ANSWERS)
    assert leaked == []
    assert opened["adjudication:review_queue"]
    assert opened["timelines:cases"]
    assert opened["adjudication:judge_runs"]
    assert opened["admin:index"]
    assert not {name for name in opened if opened[name]} & CLOSED


@pytest.mark.deep
def test_the_walk_finds_what_it_looks_for(review: Review) -> None:
    """The walk sees every secret as an admin outside the packet.

    So the secrets are where the walk looks for them.
    """
    outside = Assignment(person=review.admin, public_id="nothing", packet=review.packet)
    outside.pk = 0
    leaked, _ = leaks(walk(review, outside, post=False), (*ANSWERS, *SOURCES))
    found = {line.rpartition(": ")[2] for line in leaked}
    assert found >= {
        "the stand-in says so",
        "= 4.1 mmol/l @ 0h",
        "zqcolleaguecomment",
        "author:vega",
        "zqjudgename",
        "zqrunlabel",
        "zqcolleaguename",
    }


def test_a_cookie_holds_no_secret(review: Review) -> None:
    mine = review.assignments[1]
    client = Client()
    client.force_login(mine.person)
    client.get(reverse("adjudication:review_item", args=[mine.public_id]))
    assert set(client.cookies) <= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    stored = json.dumps(dict(client.session.items())).lower()
    assert not [secret for secret in (*ANSWERS, *SOURCES, *KINDS) if secret in stored]
