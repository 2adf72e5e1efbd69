"""The report on a judge run: columns, strata, unjudged games, positions.

Other judges, the command and its page are covered too.
"""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import AuditEvent, Role
from adjudication.access.eligibility import load_case_ids
from adjudication.models import Finding, Game
from adjudication.packets.actions import assign, open_packet
from adjudication.ratings.data import compare_runs, compute_report, load_games
from adjudication.reports.league.values import CATEGORIES
from adjudication.scoring.errors import WEIGHTS, Category
from tests import factories
from tests.worlds.authored import Page, make_author, make_draft
from tests.worlds.judged import (
    KEYS,
    SOURCES,
    FixedJudge,
    make_case,
    make_judged_run,
    make_judged_world,
)
from tests.worlds.reviewed import draw_packet
from timelines.authoring.actions import submit
from timelines.domain import TimelineKind
from timelines.models import Timeline

pytestmark = pytest.mark.django_db(transaction=True)


def sum_points(run):
    """Return points charged to (first, second) of every judged game.

    First positions only; summed from the findings one by one.
    """
    points = {}
    for game in Game.objects.filter(run=run, outcome="judged", swapped=False).order_by("pk"):
        sums = [0.0, 0.0]
        for f in game.findings.exclude(category=""):
            sums[0 if f.charged_first else 1] += WEIGHTS[Category(f.category)]
        points[game.pk] = tuple(sums)
    return points


def sign_in(study, role=Role.ADMIN):
    client = Client()
    client.force_login(factories.make_user(study, role))
    return client


def test_columns_hold_what_the_findings_say():
    world = make_judged_world(cases=3, swap=True)
    games = load_games(world.run)
    assert games.sources == tuple(key.label for key in KEYS)
    assert len(games) == 9, "games in first positions alone"
    weights = [WEIGHTS[c] for c in CATEGORIES]
    computed = [tuple(float(x) for x in (row * weights).sum(1)) for row in games.charges]
    assert computed == list(sum_points(world.run).values())
    straight = Finding.objects.filter(game__run=world.run, game__swapped=False)
    assert games.findings.sum() == straight.count()
    assert len(games.timing_game) == straight.filter(type="TIMING").exclude(category="").count() > 0
    assert set(zip(games.first.tolist(), games.second.tolist(), strict=True)) == {
        (0, 1),
        (0, 2),
        (1, 2),
    }


def test_two_times_that_are_n_a_are_within_every_tolerance_as_the_flag_has_it():
    dataset = factories.make_dataset()
    untimed = {name: tuple(replace(c, time=None) for c in rows) for name, rows in SOURCES.items()}
    make_case(dataset, "one", untimed)
    run = make_judged_run(dataset)
    decisive = Finding.objects.filter(game__run=run, type="TIMING").exclude(category="")
    assert decisive.count() == decisive.filter(flagged=True).count() > 0
    every, *beyond = compute_report(run).tolerance
    assert (every.charged, every.left_out) == (decisive.count(), 0)
    assert {(step.charged, step.left_out) for step in beyond} == {(0, decisive.count())}


def test_the_number_of_queries_does_not_grow_with_the_cohort():
    counts = []
    for cases in (1, 4):
        run = make_judged_world(cases=cases).run
        with CaptureQueriesContext(connection) as asked:
            compute_report(run)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 15


def test_strata_are_the_protocols_under_which_references_were_written():
    world = make_judged_world(cases=4)
    unaided, assisted, imported, _ = world.encounters
    for encounter, protocol in ((unaided, "unaided"), (assisted, "assisted")):
        draft = make_draft(
            encounter, make_author(encounter, Role.CLINICIAN, username=f"dr-{protocol}"), protocol
        )
        page = Page(draft)
        note = encounter.notes.get().text
        page.add("Fever", note, time=-72.0)
        draft.refresh_from_db()
        submit(authoring=draft, by=draft.author)
    reference = Timeline.objects.create(
        encounter=imported, source="reference", kind=TimelineKind.REFERENCE.value
    )
    report = compute_report(world.run)
    assert [s.name for s in report.strata] == [
        "assisted",
        "imported reference",
        "no reference",
        "unaided",
    ]
    assert [s.games for s in report.strata] == [3, 3, 3, 3]
    for s in report.strata:
        assert sum(r.rating for r in s.ratings) == pytest.approx(3 * 1500), (
            "each is centred by itself"
        )
    Timeline.objects.filter(pk=reference.pk).update(protocol="two readers")
    assert "two readers" in [s.name for s in compute_report(world.run).strata]
    Timeline.objects.create(encounter=imported, source="later", kind=TimelineKind.REFERENCE.value)
    assert "two readers" in [s.name for s in compute_report(world.run).strata]


def test_unjudged_games_are_counted_and_are_no_games_without_findings():
    dataset = factories.make_dataset()
    make_case(dataset, "one")
    # Refuses games with seven rows as A: the first and the third source have so many, the
    # second has six.
    run = make_judged_run(dataset, FixedJudge(refuse=frozenset({7})))
    unjudged = run.games.filter(outcome="unjudged").count()
    assert 0 < unjudged <= 3
    report = compute_report(run)
    assert (report.games, report.unjudged, report.open) == (3 - unjudged, unjudged, 0)
    assert sum(m.unjudged for m in report.matchups) == unjudged
    assert all(m.result.cases == 1 - m.unjudged for m in report.matchups)


def test_two_judge_runs_agree_but_for_what_the_second_holds_otherwise():
    world = make_judged_world(cases=2)
    later = make_judged_run(world.dataset, FixedJudge(version="2", fever="UNCLEAR"))
    comparisons, rows = compare_runs(world.run, later)
    by_type = {row.type: row for row in rows}
    assert comparisons == 6
    fever = Finding.objects.filter(
        game__run=world.run, note_evidence="Fever for three days"
    ).count()
    assert by_type["all"].both == by_type["all"].first == by_type["all"].second
    assert (
        by_type["all"].both - by_type["all"].alike
        == by_type["TIMING"].both - by_type["TIMING"].alike
        == fever
        > 0
    )
    assert by_type["VALUE"].same == 1.0


def test_exchanged_positions_find_the_same_again():
    report = compute_report(make_judged_world(cases=2, swap=True).run)
    everything = report.swap[0]
    assert everything.type == "all"
    assert everything.first == everything.second == everything.both == everything.alike > 0
    assert compute_report(make_judged_world(cases=1).run).swap == ()


@pytest.mark.parametrize("form", ["", "--json", "--csv", "--latex"])
def test_the_command_prints_every_form(form):
    world = make_judged_world(cases=2, swap=True)
    out = StringIO()
    call_command("judge_report", world.run.public_id, *([form] if form else []), stdout=out)
    text = out.getvalue()
    for key in KEYS:
        assert (key.source if form != "--latex" else key.source.replace("_", r"\_")) in text
    if form == "--json":
        exported = json.loads(text)
        assert exported["games"] == 6
        assert {t["name"] for t in exported["tables"]} >= {
            "ratings",
            "profile",
            "matchups",
            "sensitivity",
            "tolerance",
            "swap",
        }
    elif form == "--latex":
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 5


def test_the_command_compares_judges_and_says_what_it_cannot_find(tmp_path):
    world = make_judged_world(cases=1)
    later = make_judged_run(
        world.dataset, FixedJudge(version="2", fever="UNCLEAR"), label="second opinion"
    )
    out = tmp_path / "report.txt"
    call_command(
        "judge_report", world.run.public_id, against="second opinion", out=out, stderr=StringIO()
    )
    assert "on 3 comparisons that both judged" in out.read_text()
    with pytest.raises(CommandError, match=later.public_id):
        call_command("judge_report", "nothing")
    with pytest.raises(CommandError, match="no comparison in common"):
        call_command(
            "judge_report", world.run.public_id, against=make_judged_world(cases=1).run.public_id
        )
    with pytest.raises(CommandError, match="folder does not exist"):
        call_command("judge_report", world.run.public_id, out=tmp_path / "none" / "x")


def test_the_page_shows_every_source_and_every_table_comes_as_a_file():
    world = make_judged_world(cases=2, swap=True)
    client = sign_in(world.study)
    page = client.get(reverse("adjudication:dashboard", args=[world.run.public_id]))
    assert page.status_code == 200
    for key in KEYS:
        assert key.label in page.content.decode()
    report = compute_report(world.run)
    for name in ("ratings", "profile", "counts", "matchups", "sensitivity", "tolerance", "swap"):
        for format in ("csv", "latex", "json"):
            answer = client.get(
                reverse("adjudication:dashboard_table", args=[world.run.public_id, name, format])
            )
            assert answer.status_code == 200, (name, format)
            assert name in answer["Content-Disposition"]
    exported = json.loads(
        client.get(
            reverse("adjudication:dashboard_table", args=[world.run.public_id, "ratings", "json"])
        ).content
    )
    assert {row[0]: row[2]["value"] for row in exported["rows"]} == {
        r.source: pytest.approx(r.rating) for r in report.rated.ratings
    }
    assert AuditEvent.objects.filter(action="judge.export").exists()
    assert (
        client.get(
            reverse("adjudication:dashboard_table", args=[world.run.public_id, "nothing", "csv"])
        ).status_code
        == 404
    )


def test_a_run_without_games_says_what_would_be_there():
    world = make_judged_world(cases=1)
    Finding.objects.filter(game__run=world.run).delete()
    Game.objects.filter(run=world.run).delete()
    page = (
        sign_in(world.study)
        .get(reverse("adjudication:dashboard", args=[world.run.public_id]))
        .content.decode()
    )
    assert "Nothing judged yet" in page


def test_whoever_reviews_cases_of_the_run_sees_no_ratings():
    world = make_judged_world(cases=2)
    clinician = factories.make_user(world.study, Role.CLINICIAN, username="dr-blind")
    admin = factories.make_user(world.study, Role.ADMIN, username="an-admin")
    packet = draw_packet(world, admin)
    assert len(load_case_ids(packet)) == 2
    assign(packet=packet, person=clinician, by=admin)
    open_packet(packet=packet, by=admin)
    client = Client()
    client.force_login(clinician)
    for name, args in (("dashboard", []), ("dashboard_table", ["ratings", "csv"])):
        assert (
            client.get(
                reverse(f"adjudication:{name}", args=[world.run.public_id, *args])
            ).status_code
            == 403
        ), name
    for name in ("findings_download", "games_download"):
        closed = client.get(reverse(f"adjudication:{name}", args=[world.run.public_id, "jsonl"]))
        assert closed.status_code == 403, "every case of the run is in the packet"
