"""Responses of pages about judge runs, findings and comparisons.

Filters, scope, access, exposure, and text that stays text.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from django.db.models import Q
from django.test import Client
from django.urls import reverse

from accounts.actions import add_role
from accounts.models import AuditEvent, Role
from adjudication.access.closed import OPEN, ClosedObjects, find_closed_objects
from adjudication.access.eligibility import load_case_ids
from adjudication.findings.changes import Change, ChangeFilter, Changes
from adjudication.findings.listing import FindingFilter
from adjudication.findings.pages import FindingPages
from adjudication.judge_runs import actions
from adjudication.judge_runs.forms import suggest_sources
from adjudication.judging.config import JudgeConfig
from adjudication.models import Finding, Game, JudgeRun
from jobs.models import JobState
from llm_runtime.models import ModelCall, ModelRequestText
from tests import factories
from tests.functional.cases.case_world import MARKUP
from tests.support.pages import extract_text
from tests.worlds.judged import (
    KEYS,
    SOURCES,
    FixedJudge,
    make_case,
    make_judged_run,
    make_judged_world,
    use_judge,
)
from tests.worlds.reviewed import build_open_world
from timelines.access.authoring import make_source, was_exposed
from timelines.evaluation.values import SourceKey
from timelines.models import Authoring, Timeline

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = {"HTTP_HX_REQUEST": "true"}
NOBODY_CLOSED = ClosedObjects(frozenset(), frozenset())


@pytest.fixture
def world():
    return make_judged_world(cases=2)


@pytest.fixture
def web(world):
    """The pages as an admin of the study."""
    web = Client()
    web.force_login(factories.make_user(world.study, Role.ADMIN, username="the-admin"))
    return web


def page_url(name: str, *ids: str) -> str:
    return reverse(f"adjudication:{name}", args=ids)


def list_findings(run: JudgeRun, **asked: str) -> list[Finding]:
    """All findings that a filter selects, in the order of the list."""
    return FindingPages(run, FindingFilter(**asked), OPEN).load(10_000)


def count_listed(web, run: JudgeRun, **asked: str) -> int:
    """How many findings the list says there are."""
    shown = extract_text(web.get(page_url("findings", run.public_id), asked))
    found = re.search(r"(\d+) findings?", shown)
    assert found is not None
    return int(found[1])


def find_game(
    world, first: str = "author:vega", second: str = "rules-orion", case: int = 0
) -> Game:
    return Game.objects.select_related("run", "comparison__first", "comparison__second").get(
        run=world.run,
        comparison__encounter=world.encounters[case],
        comparison__first__source=first,
        comparison__second__source=second,
        swapped=False,
    )


def find_fever(world) -> Finding:
    return find_game(world).findings.get(a_event="fever")


# Judge runs


def test_an_empty_list_says_what_would_be_here_and_how_to_get_it(client):
    study = factories.make_study()
    client.force_login(factories.make_user(study, Role.CLINICIAN))
    assert "A study admin starts judge runs" in extract_text(client.get(page_url("judge_runs")))
    client.force_login(factories.make_user(study, Role.ADMIN))
    assert "manage.py judge" in extract_text(client.get(page_url("judge_runs")))
    assert "Nothing to compare yet" in extract_text(client.get(page_url("judge_run_new")))


def test_whole_systems_in_their_first_alternative_are_suggested_and_variants_only_without_others():
    keys = [
        SourceKey("reference", "reference"),
        SourceKey("rules", "revised"),
        SourceKey("rules", "revised", 2),
    ]
    variants = [
        SourceKey("rules/no_query", "revised"),
        SourceKey("rules/no_uid", "revised"),
        SourceKey("rules/no_uid", "revised", 2),
    ]
    assert suggest_sources([*keys, *variants]) == ["reference@reference", "rules@revised"]
    assert suggest_sources([keys[1], *variants]) == [
        "rules@revised",
        "rules/no_query@revised",
        "rules/no_uid@revised",
    ]


def test_the_list_counts_games_and_findings_and_knows_no_other_study(web, world):
    other = make_judged_world(cases=1)
    shown = extract_text(web.get(page_url("judge_runs")))
    findings = Finding.objects.filter(game__run=world.run).count()
    assert f"6 of 6 {findings}" in shown
    assert other.dataset.name not in shown


def test_a_judge_run_is_started_from_the_form(web, world):
    form = {
        "datasets": world.dataset.public_id,
        "sources": ["author:vega@revised", "llm-lyra@revised"],
        "judge": "rules",
    }
    form |= {
        "tolerance": "fixed",
        "seed": "7",
        "swap": "on",
        "cases": world.encounters[0].case_id,
        "label": "again",
    }
    assert web.post(page_url("judge_run_new"), form).status_code == 302
    run = JudgeRun.objects.get(label="again")
    config = JudgeConfig.from_dict(run.config)
    assert (config.seed, config.swap, config.tolerance.share) == (7, True, 0.0)
    assert run.games.count() == 2, "one case, one pair, and its rerun"
    shown = extract_text(
        web.post(
            page_url("judge_run_new"),
            {**form, "sources": ["author:vega@revised"], "cases": "nowhere"},
        )
    )
    assert "Choose at least two" in shown
    assert "Not in these cohorts: nowhere" in shown


def test_the_form_offers_every_source_and_no_model_to_the_rules(web, world):
    shown = extract_text(web.get(page_url("judge_run_new")))
    for key in KEYS:
        assert key.label in shown
    form = {
        "datasets": world.dataset.public_id,
        "sources": ["author:vega@revised", "llm-lyra@revised"],
        "tolerance": "scaled",
        "seed": "1",
    }
    page = web.get(page_url("judge_run_new")).content.decode()
    models = re.findall(
        r'<option value="([^"]+)"', page.partition('name="model"')[2].partition("</select>")[0]
    )
    if models:
        assert "The rules judge uses no language model" in extract_text(
            web.post(page_url("judge_run_new"), {**form, "judge": "rules", "model": models[0]})
        )


def test_a_run_tells_unjudged_from_failed_and_gives_each_another_go(web, world):
    refusing = make_judged_run(
        world.dataset,
        FixedJudge(refuse=frozenset({len(SOURCES["author:vega"]), len(SOURCES["rules-orion"])})),
    )
    failed = (
        Game.objects.filter(run=refusing).exclude(outcome="unjudged").first()
        or Game.objects.filter(run=refusing).last()
    )
    reasons = ["attempt 1: the server is away"]
    factories.change_past_guards(
        Game.objects.filter(pk=failed.pk), state=JobState.FAILED, outcome="", reasons=reasons
    )
    address = page_url("judge_run", refusing.public_id)
    shown = extract_text(web.get(address))
    unjudged = Game.objects.filter(run=refusing, outcome="unjudged").count()
    assert unjudged
    assert f"{unjudged} unjudged" in shown
    assert "the answer must be one JSON object" in shown
    assert "the server is away" in extract_text(web.get(address, {"show": "failed"}))
    assert "the server is away" not in extract_text(web.get(address, {"show": "unjudged"}))
    page = extract_text(web.get(page_url("judge_game", refusing.public_id, failed.public_id)))
    assert "Failed: attempt 1: the server is away" in page
    web.post(page_url("judge_run_action", refusing.public_id, "retry"))
    assert Game.objects.get(pk=failed.pk).state == JobState.QUEUED
    assert Game.objects.filter(run=refusing, state=JobState.FAILED).count() == unjudged
    web.post(page_url("judge_run_action", refusing.public_id, "unjudged"))
    assert not Game.objects.filter(run=refusing, state=JobState.FAILED).exists()
    assert "hx-trigger" in web.get(address).content.decode(), "it asks again while games wait"
    assert web.post(page_url("judge_run_action", refusing.public_id, "explode")).status_code == 404


def test_pause_resume_and_cancel(web, world):
    with use_judge(FixedJudge()):
        run = actions.start_judging(
            study=world.study, datasets=[world.dataset], sources=KEYS, by=None, tell_workers=False
        )
    web.post(page_url("judge_run_action", run.public_id, "pause"))
    assert "Paused" in extract_text(web.get(page_url("judge_run", run.public_id)))
    web.post(page_url("judge_run_action", run.public_id, "resume"))
    web.post(page_url("judge_run_action", run.public_id, "cancel"))
    assert set(run.games.values_list("state", flat=True)) == {JobState.CANCELLED}
    assert "Cancelled" in extract_text(web.get(page_url("judge_run", run.public_id)))
    game = run.games.first()
    web.post(page_url("judge_game_again", run.public_id, game.public_id))
    game.refresh_from_db()
    assert game.state == JobState.QUEUED


def test_the_calls_of_a_run_are_counted_and_one_is_shown_whole(web, world):
    game = find_game(world)
    body = json.dumps(
        {"messages": [{"role": "user", "content": f"judge this {MARKUP}"}], "schema": None}
    )
    request = ModelRequestText.objects.create(sha256="2" * 64, body=body)
    kept = {
        "role": "judge",
        "model": "tiny",
        "prompt": "adjudication/judge",
        "prompt_sha256": "0" * 64,
        "part": "the game",
        "attempt": 1,
    }
    reply = json.dumps(
        {"text": f"not json {MARKUP}", "finish_reason": "stop", "reasoning": "", "raw": {}}
    )
    call = ModelCall.objects.create(
        owner_type=actions.CALLS_OWNER, owner_id=str(game.pk), request=request, seconds=2.5, tokens_in=900, tokens_out=40,
        outcome="rejected", reasons=["the answer must be one JSON object"], response=reply, **kept,
    )  # fmt: skip
    counted = extract_text(web.get(page_url("judge_run_calls", world.run.public_id)))
    assert "author:vega · revised | rules-orion · revised 1 0 900" in counted
    assert "1 × the answer must be one JSON object" in counted
    assert "900 tokens in, 40 out" in extract_text(
        web.get(page_url("judge_game", world.run.public_id, game.public_id))
    )
    page = web.get(page_url("judge_call", call.public_id)).content.decode()
    assert "not json &lt;img src=x" in page
    assert MARKUP not in page
    factory_call = reverse("timelines:model_call", args=[call.public_id])
    assert web.get(factory_call).status_code == 404, (
        "a judge's call is read under the rules of findings"
    )


# Findings


def test_filters_narrow_the_findings_by_what_they_say(web, world):
    run = world.run
    everything = Finding.objects.filter(game__run=run)
    assert count_listed(web, run) == everything.count()
    expected = {
        ("type", "TIMING"): everything.filter(type="TIMING"),
        ("type", "one-sided"): everything.filter(type__in=("A_ONLY", "B_ONLY")),
        ("verdict", "decisive"): everything.filter(verdict__in=("A", "B")),
        ("verdict", "UNCLEAR"): everything.filter(verdict="UNCLEAR"),
        ("grounding", "TABLE"): everything.filter(grounding="TABLE"),
        ("category", "wrong_time"): everything.filter(category="wrong_time"),
        ("flagged", "1"): everything.filter(flagged=True),
        ("case", world.encounters[1].public_id): everything.filter(
            game__comparison__encounter=world.encounters[1]
        ),
    }
    for (name, value), wanted in expected.items():
        assert 0 < wanted.count() < everything.count(), (name, value)
        assert count_listed(web, run, **{name: value}) == wanted.count(), (name, value)
    assert (
        count_listed(web, run, type="nonsense", source="99", charged="-1", sort="; drop table")
        == everything.count()
    )


def test_the_size_filter_partitions_the_findings_by_hours_apart(web, world):
    sizes = {
        size: count_listed(web, world.run, size=size)
        for size in ("same", "hours", "days", "weeks", "none", "single")
    }
    assert sum(sizes.values()) == Finding.objects.filter(game__run=world.run).count()
    apart = [
        abs(a - b)
        for a, b in Finding.objects.filter(
            game__run=world.run, a_time__isnull=False, b_time__isnull=False
        ).values_list("a_time", "b_time")
    ]
    assert sizes["same"] == sum(d == 0 for d in apart)
    assert sizes["hours"] == sum(0 < d < 24 for d in apart)
    assert sizes["days"] == sum(24 <= d < 168 for d in apart)


def test_source_and_charged_source_are_told_apart(world):
    """A finding of a pair is of both sources, and charged to one at most."""
    run, numbers = world.run, range(3)
    of = [set(list_findings(run, source=str(n))) for n in numbers]
    charged = [set(list_findings(run, charged=str(n))) for n in numbers]
    every = set(Finding.objects.filter(game__run=run))
    assert of[0] | of[1] | of[2] == every
    assert all(charged[n] <= of[n] for n in numbers)
    assert sum(map(len, charged)) == len({f for f in every if f.category})
    # Of the first pair the fever is charged to its second timeline (see the stand-in).
    assert find_fever(world) in charged[1]
    assert find_fever(world) in of[0] - charged[0]


def test_sorting_is_by_the_database_with_what_has_no_size_last(world):
    found = list_findings(world.run, sort="-size")
    sizes = [
        None if f.a_time is None or f.b_time is None else abs(f.a_time - f.b_time) for f in found
    ]
    placed = [s for s in sizes if s is not None]
    assert placed == sorted(placed, reverse=True)
    assert None not in sizes[: len(placed)]
    weights = [
        {"over_annotation": 6, "": 0, "missed_negative": 1}.get(f.category)
        for f in list_findings(world.run, sort="-weight")
    ]
    known = [w for w in weights if w is not None]
    assert known == sorted(known, reverse=True)


def test_thousands_of_findings_are_paged_and_read_in_few_queries(
    web, world, django_assert_max_num_queries
):
    game = find_game(world)
    model = game.findings.get(a_event="fever")
    rows = [
        Finding(game=game, ordinal=100 + n, type="TIMING", verdict="UNCLEAR", polarity="present", grounding="NONE", a_event="fever",
                a_time=n, b_event="fever", b_time=0, a_entry=model.a_entry, b_entry=model.b_entry, subject_sha256=f"{n:064x}")
        for n in range(3000)
    ]  # fmt: skip
    Finding.objects.bulk_create(rows)
    address = page_url("findings", world.run.public_id)
    with django_assert_max_num_queries(40):
        first = web.get(address, {"sort": "-size"})
    after = first.context["next"]
    with django_assert_max_num_queries(40):
        second = web.get(address, {"sort": "-size", "after": after})
    assert "50 shown" in extract_text(second)
    times = [line.finding.a_time for answer in (first, second) for line in answer.context["lines"]]
    assert times == list(range(2999, 2899, -1))
    back = web.get(address, {"sort": "-size", "before": second.context["previous"]})
    assert back.context["lines"] == first.context["lines"]
    assert back.context["previous"] == ""


def test_a_case_id_travels_in_the_body_and_a_public_id_in_the_address(web, world):
    case = world.encounters[1]
    found = web.post(
        f"{page_url('findings', world.run.public_id)}?type=TIMING&after=abc", {"case": case.case_id}
    )
    assert (
        found["Location"]
        == f"{page_url('findings', world.run.public_id)}?type=TIMING&case={case.public_id}"
    )
    missed = web.post(page_url("findings", world.run.public_id), {"case": "no-such"}, follow=True)
    assert "No case of this judge run has this id" in extract_text(missed)


def test_htmx_gets_the_list_alone_and_history_the_whole_page(web, world):
    address = page_url("findings", world.run.public_id)
    assert "<html" not in web.get(address, **HTMX).content.decode()
    assert (
        "<html" in web.get(address, **HTMX, HTTP_HX_HISTORY_RESTORE_REQUEST="true").content.decode()
    )


def test_a_finding_shows_both_rows_quote_rows_reason_and_who_is_charged_why(web, world):
    fever = find_fever(world)
    response = web.get(page_url("finding", fever.public_id))
    shown = extract_text(response)
    assert "author:vega · revised" in shown
    assert (
        "rules-orion · revised is charged with a wrong time, 2 points, because the judge found its time wrong"
        in shown
    )
    assert '<mark id="quote">Fever for three days</mark>' in response.content.decode()
    assert "the stand-in says so" in shown
    copied = find_game(world).findings.get(type="SHARED_UNSUPPORTED")
    assert "The judge found no passage" in extract_text(
        web.get(page_url("finding", copied.public_id))
    )
    value = find_game(world).findings.get(type="VALUE", grounding="TABLE")
    response = web.get(page_url("finding", value.public_id))
    shown = extract_text(response)
    assert "lab:lactate:: = 4.1 mmol/L @ 0h" in shown
    cited = re.findall(r'<tr class="is-cited">(.*?)</tr>', response.content.decode(), re.DOTALL)
    assert len(cited) == 1
    assert "4.1 mmol/L" in cited[0]
    side = "a" if find_game(world).a_is_first else "b"
    entry = getattr(value, f"{side}_entry")
    assert (
        f"?t={entry.timeline.public_id}&amp;o={entry.occurrence.uid4}" in response.content.decode()
    )


def test_the_words_of_a_finding_name_the_right_source_when_positions_are_exchanged(web):
    world = make_judged_world(cases=1, swap=True)
    by_swap = {
        f.game.swapped: f
        for f in Finding.objects.filter(
            a_event="fever", game__run=world.run, game__comparison=find_game(world).comparison
        )
    }
    words = [
        extract_text(sign_in(world).get(page_url("finding", by_swap[swapped].public_id)))
        for swapped in (False, True)
    ]
    assert all("rules-orion · revised is charged with a wrong time" in w for w in words)
    assert (
        count_listed(sign_in(world), world.run)
        == Finding.objects.filter(game__run=world.run, game__swapped=False).count()
    )
    assert (
        count_listed(sign_in(world), world.run, rerun="all")
        == Finding.objects.filter(game__run=world.run).count()
    )


def sign_in(world) -> Client:
    web = Client()
    web.force_login(factories.make_user(world.study, Role.CLINICIAN))
    return web


def test_what_comes_from_outside_stays_text_on_every_page(client):
    """Markup in events, notes, values, reasons and labels is shown as text."""
    dataset = factories.make_dataset()
    candidates = {
        name: [replace(c, event=f"{c.event} {MARKUP}") if c.event == "fever" else c for c in rows]
        for name, rows in SOURCES.items()
    }
    encounter = make_case(dataset, "case-x", candidates)
    run = make_judged_run(dataset, FixedJudge(), label=MARKUP)
    game = Game.objects.filter(run=run).first()
    rows = {
        f"{side}_{part}": value
        for side in "ab"
        for part, value in (("event", f"fever {MARKUP}"), ("time", 3))
    }
    finding = Finding.objects.create(
        game=game, ordinal=50, type="TIMING", verdict="UNCLEAR", polarity="present", grounding="TABLE", table_evidence=f"lab {MARKUP} @ 1h",
        reason=f"because {MARKUP}", subject_sha256="f" * 64, **rows,
    )  # fmt: skip
    client.force_login(factories.make_user(dataset.study, Role.ADMIN))
    again = make_judged_run(dataset, FixedJudge(fever="SECOND"))
    pages = [
        page_url("judge_runs"), page_url("judge_run", run.public_id), page_url("judge_game", run.public_id, game.public_id),
        page_url("findings", run.public_id),
        page_url("finding", finding.public_id), page_url("judge_changes", run.public_id, again.public_id) + "?change=gone",
        page_url("compare", encounter.public_id),
    ]  # fmt: skip
    for page in pages:
        shown = client.get(page).content.decode()
        assert "<img src=x" not in shown, page
        assert "<script>window" not in shown, page
        assert (
            "onerror" in shown or page == page_url("compare", encounter.public_id) or "gone" in page
        ), page


# Who may see what


def test_another_studys_findings_are_not_there(web, world):
    other = make_judged_world(cases=1)
    game, finding = (
        Game.objects.filter(run=other.run).first(),
        Finding.objects.filter(game__run=other.run).first(),
    )
    for page in (
        page_url("judge_run", other.run.public_id), page_url("findings", other.run.public_id), page_url("finding", finding.public_id),
        page_url("judge_game", other.run.public_id, game.public_id), page_url("compare", other.encounters[0].public_id),
        page_url("judge_changes", world.run.public_id, other.run.public_id),
    ):  # fmt: skip
        assert web.get(page).status_code == 404, page
    assert web.get(page_url("judge_game", world.run.public_id, game.public_id)).status_code == 404
    one = Timeline.objects.filter(encounter=other.encounters[0]).first()
    assert (
        web.get(
            page_url("compare", world.encounters[0].public_id), {"a": one.public_id}
        ).status_code
        == 404
    )


def test_an_unaided_author_sees_nothing_of_the_case_until_they_submit(world):
    writer = factories.make_user(world.study, Role.CLINICIAN)
    case = world.encounters[0]
    Authoring.objects.create(
        encounter=case, author=writer, protocol=Authoring.Protocol.UNAIDED, inventory=_draft(case)
    )
    web = Client()
    web.force_login(writer)
    finding = find_fever(world)
    for page in (
        page_url("finding", finding.public_id),
        page_url("compare", case.public_id),
        page_url("judge_game", world.run.public_id, finding.game.public_id),
    ):
        answer = web.get(page)
        assert answer.status_code == 403, page
        assert "Closed until you submit" in answer.content.decode()
    assert (
        count_listed(web, world.run)
        == Finding.objects.filter(
            game__run=world.run, game__comparison__encounter=world.encounters[1]
        ).count()
    )
    shown = extract_text(web.get(page_url("findings", world.run.public_id)))
    assert "cases that are closed to you are not counted" in shown
    assert f"> {case.case_id} <" not in shown
    run_page = extract_text(web.get(page_url("judge_run", world.run.public_id)))
    assert "exclude the cases that you review" in run_page
    assert "3 of 3 games judged" in run_page, "those of the other case"
    assert not was_exposed(writer, case)


def test_a_fellow_author_sees_no_other_authors_timeline_here_either(world):
    """An author meets no other author's rows before all submissions.

    Findings and comparisons are covered.
    """
    writer = factories.make_user(world.study, Role.CLINICIAN, username="writer")
    case = world.encounters[0]
    Authoring.objects.create(
        encounter=case, author=writer, protocol=Authoring.Protocol.ASSISTED, inventory=_draft(case)
    )
    web = Client()
    web.force_login(writer)
    hidden = Timeline.objects.get(encounter=case, source="author:vega")
    assert find_closed_objects(writer).timelines == {hidden.pk}
    assert web.get(page_url("finding", find_fever(world).public_id)).status_code == 404
    assert web.get(page_url("compare", case.public_id), {"a": hidden.public_id}).status_code == 404
    page = web.get(page_url("compare", case.public_id)).content.decode()
    assert "author:vega" not in page
    assert make_source(writer) != "author:vega"
    seen = len([f for f in list_findings(world.run) if f.game.comparison.encounter != case])
    seen += len(
        [
            f
            for f in list_findings(world.run, case=case.public_id)
            if f.game.comparison.first != hidden
        ]
    )
    assert count_listed(web, world.run) == seen


def test_an_open_packet_closes_its_cases_to_whoever_reviews_it(world):
    """A reviewing clinician sees nothing of the packet's cases while open.

    This covers findings, games, comparisons and changes.
    """
    later = make_judged_run(world.dataset, FixedJudge(fever="UNCLEAR"))
    reviewed = build_open_world(world, reviewers=1, cases=1)
    person = reviewed.reviewers[0]
    add_role(study=world.study, user=person, role=Role.CLINICIAN, by=None)
    closed = {e for e in world.encounters if e.public_id in load_case_ids(reviewed.packet)}
    assert closed
    web = Client()
    web.force_login(person)
    for finding in Finding.objects.filter(
        game__run=world.run, game__comparison__encounter__in=closed
    ).select_related("game__comparison"):
        case = finding.game.comparison.encounter
        game = page_url("judge_game", world.run.public_id, finding.game.public_id)
        assert {
            web.get(p).status_code
            for p in (
                page_url("finding", finding.public_id),
                game,
                page_url("compare", case.public_id),
            )
        } == {403}
    left = (
        Finding.objects.filter(game__run=world.run)
        .exclude(game__comparison__encounter__in=closed)
        .count()
    )
    assert count_listed(web, world.run) == left
    changes = extract_text(
        web.get(page_url("judge_changes", world.run.public_id, later.public_id), {"change": "same"})
    )
    assert all(f" {case.case_id} " not in changes for case in closed)
    run_page = web.get(page_url("judge_run", world.run.public_id)).content.decode()
    assert all(f">{case.case_id}</a>" not in run_page for case in closed)
    assert not any(was_exposed(person, case) for case in closed)


def test_reading_findings_and_comparisons_is_exposure(web, world):
    reader = factories.make_user(world.study, Role.CLINICIAN)
    other = Client()
    other.force_login(reader)
    other.get(page_url("judge_runs"))
    other.get(page_url("judge_run", world.run.public_id))
    assert not was_exposed(reader, world.encounters[0])
    other.get(page_url("findings", world.run.public_id), {"case": world.encounters[1].public_id})
    assert was_exposed(reader, world.encounters[1])
    assert not was_exposed(reader, world.encounters[0])
    other.get(page_url("compare", world.encounters[0].public_id))
    assert was_exposed(reader, world.encounters[0])
    other.get(page_url("finding", find_fever(world).public_id))
    events = AuditEvent.objects.filter(
        actor=reader, object_type="ehr.encounter", object_id=world.encounters[0].public_id
    )
    assert {e.detail.get("page") for e in events} == {"comparison", "finding"}


# Two timelines side by side


def read_payload(response) -> dict:
    found = re.search(
        r'<script id="case-data" type="application/json">(.*?)</script>',
        response.content.decode(),
        re.DOTALL,
    )
    assert found is not None
    return json.loads(found[1])


def test_a_comparison_pairs_rows_marks_differences_and_puts_findings_in_place(web, world):
    case = world.encounters[0]
    a, b = (
        Timeline.objects.get(encounter=case, source=name) for name in ("author:vega", "rules-orion")
    )
    data = read_payload(
        web.get(
            page_url("compare", case.public_id),
            {"a": a.public_id, "b": b.public_id, "run": world.run.public_id},
        )
    )
    items = {i["m"]: i for i in data["items"] if "a" in i and "b" in i}
    assert items["fever"]["s"] == "differs"
    assert items["fever"]["dw"] == "6 d later"
    assert items["lactate 2.0"]["s"] == "agrees", "1.5 h apart, below 3 h"
    assert items["fractured hip"]["s"] == "agrees", "60 h apart a year back, below a tenth"
    only = {i["m"]: i["s"] for i in data["items"] if not ("a" in i and "b" in i)}
    assert only["no chest pain"] == "only-a"
    assert only['pain "worst ever"'] == "only-b"
    (finding,) = items["fever"]["f"]
    assert finding["verdict"] == "author:vega · revised right"
    assert finding["charged"] == "rules-orion · revised: wrong time, 2 points"
    assert len(data["items"]) == len({i["u"] for i in data["items"]})


def test_a_comparison_works_without_findings_and_either_way_round(web, world):
    case = world.encounters[0]
    a, b = (
        Timeline.objects.get(encounter=case, source=name) for name in ("author:vega", "rules-orion")
    )
    ids = {"a": b.public_id, "b": a.public_id}
    assert any(
        "f" in i for i in read_payload(web.get(page_url("compare", case.public_id), ids))["items"]
    ), "the newest judge run, unasked"
    none = read_payload(web.get(page_url("compare", case.public_id), {**ids, "run": "none"}))
    assert not any("f" in i for i in none["items"])
    fever = find_fever(world)
    page = web.get(
        page_url("compare", case.public_id), {**ids, "f": fever.public_id}
    ).content.decode()
    selected = re.search(r'data-selected="(r\d+)"', page)
    assert selected is not None
    assert (
        next(
            i
            for i in read_payload(web.get(page_url("compare", case.public_id), ids))["items"]
            if i["u"] == selected[1]
        )["m"]
        == "fever"
    )
    other = factories.make_bare_timeline(case, {"fever": -70.0}, source="foreign")
    unjudged = web.get(
        page_url("compare", case.public_id), {"a": a.public_id, "b": other.public_id}
    )
    assert "No judge has compared these two timelines yet" in extract_text(unjudged)


def test_a_case_with_one_timeline_says_so_and_the_case_page_leads_to_the_comparison(web, world):
    case = world.encounters[0]
    address = reverse("timelines:case", args=[case.public_id])
    assert f'href="{page_url("compare", case.public_id)}?a=' in web.get(address).content.decode()
    lone = factories.make_encounter(world.dataset, case_id="lone")
    factories.make_bare_timeline(lone, {"fever": 1.0}, source="foreign")
    assert "A single timeline cannot be compared" in extract_text(
        web.get(page_url("compare", lone.public_id))
    )
    assert (
        page_url("compare", lone.public_id)
        not in web.get(reverse("timelines:case", args=[lone.public_id])).content.decode()
    )


# Two judge versions


def test_changes_between_two_versions_are_told_by_subject(web, world):
    later = make_judged_run(
        world.dataset, FixedJudge(version="2", fever="UNCLEAR"), label="second version"
    )
    Finding.objects.filter(game__run=later, type="DUPLICATE").delete()
    Finding.objects.filter(game__run=world.run, type="SHARED_UNSUPPORTED").delete()
    counts = Changes(world.run, later, NOBODY_CLOSED).counts()
    fevers = Finding.objects.filter(game__run=later, a_event="fever").count()
    assert counts[Change.VERDICT] == fevers > 0
    assert (
        counts[Change.GONE]
        == Finding.objects.filter(game__run=world.run, type="DUPLICATE").count()
        > 0
    )
    assert (
        counts[Change.NEW]
        == Finding.objects.filter(game__run=later, type="SHARED_UNSUPPORTED").count()
        > 0
    )
    assert counts[Change.SAME] > 0
    shown = extract_text(web.get(page_url("judge_changes", world.run.public_id, later.public_id)))
    assert f"Every change {fevers + counts[Change.GONE] + counts[Change.NEW]}" in shown
    only = Changes(world.run, later, NOBODY_CLOSED, ChangeFilter("verdict", "TIMING"))
    lines = only[0:50]
    assert len(lines) == len(only) == fevers
    assert {(line.before.verdict != "unclear", line.after.verdict) for line in lines} == {
        (True, "unclear")
    }
    assert extract_text(web.get(page_url("judge_run", later.public_id))).count("What changed") == 1


def test_a_verdict_is_the_same_whatever_the_labels_were(web, world):
    """Other sides by another seed do not change the verdict."""

    def draw(run):
        games = Game.objects.filter(run=run)
        return sorted(games.values_list("comparison_id", "a_is_first"))

    def start(seed):
        return actions.start_judging(
            study=world.study,
            datasets=[world.dataset],
            sources=KEYS,
            config=JudgeConfig(seed=seed),
            by=None,
            tell_workers=False,
        )

    # The sides of six games depend on random ids too: one seed in 64 draws the same.
    later = next(run for run in map(start, range(1, 20)) if draw(run) != draw(world.run))
    with use_judge(FixedJudge()):
        for pk in later.games.values_list("pk", flat=True):
            actions.execute_game(pk)
    # The two rows of the rash are equal to the letter: the order in which they were shown decides
    # which of them the stand-in names.
    Finding.objects.filter(Q(a_event__contains="rash") | Q(b_event__contains="rash")).delete()
    counts = Changes(world.run, later, NOBODY_CLOSED).counts()
    assert counts[Change.SAME] == Finding.objects.filter(game__run=later).count() > 0
    assert counts[Change.VERDICT] == counts[Change.NEW] == counts[Change.GONE] == 0
    assert "No changes" in extract_text(
        web.get(page_url("judge_changes", world.run.public_id, later.public_id))
    )


def test_what_one_run_left_unjudged_is_neither_gone_nor_new(web, world):
    later = make_judged_run(
        world.dataset,
        FixedJudge(refuse=frozenset({len(SOURCES["author:vega"]), len(SOURCES["rules-orion"])})),
    )
    changes = Changes(world.run, later, NOBODY_CLOSED)
    judged = Game.objects.filter(run=later, outcome="judged").count()
    assert changes.comparisons() == judged < 6
    assert changes.counts()[Change.GONE] == 0
    if not judged:
        assert "No comparison in common" in extract_text(
            web.get(page_url("judge_changes", world.run.public_id, later.public_id))
        )


def test_changes_leave_out_what_is_closed(world):
    later = make_judged_run(world.dataset, FixedJudge(fever="UNCLEAR"))
    case = world.encounters[0].pk
    every, some = (
        Changes(world.run, later, closed).count()
        for closed in (NOBODY_CLOSED, ClosedObjects(frozenset({case}), frozenset()))
    )
    assert some * 2 == every
    author = Timeline.objects.get(encounter=world.encounters[0], source="author:vega")
    assert (
        0
        < some
        < Changes(world.run, later, ClosedObjects(frozenset(), frozenset({author.pk}))).count()
        < every
    )


def _draft(case):
    """An inventory of somebody's own."""
    return factories.make_inventory(case.notes.get())
