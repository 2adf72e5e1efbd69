"""All games as files, with draws and unjudged ones.

With the findings they give every share and rating again.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import AuditEvent, Role
from adjudication.access.closed import ClosedObjects
from adjudication.findings import games_export
from adjudication.models import Finding, Game, JudgeRun
from adjudication.ratings.data import compute_report, load_games
from adjudication.reports.league.compute import compute_shares, costs
from adjudication.scoring.bradley_terry import bootstrap_ratings, interval, ratings
from adjudication.scoring.shares import mean_shares, share
from tests import factories
from tests.worlds.judged import (
    SOURCES,
    FixedJudge,
    make_case,
    make_judged_run,
    make_judged_world,
)
from tests.worlds.kept import build_once
from timelines.models import Timeline

pytestmark = pytest.mark.django_db(transaction=True)
EVERYTHING = ClosedObjects(frozenset(), frozenset())


class Fetch:
    """Takes files of one judge run as an admin of its study."""

    def __init__(self, run):
        self.run, self.client = run, Client()
        self.client.force_login(factories.make_user(run.study, Role.ADMIN))

    def __call__(self, name: str, format: str) -> bytes:
        answer = self.client.get(
            reverse(f"adjudication:{name}_download", args=[self.run.public_id, format])
        )
        assert answer.status_code == 200
        assert self.run.public_id in answer["Content-Disposition"]
        return b"".join(answer.streaming_content)


def table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


@pytest.fixture
def run():
    return judge_cases()


@build_once
def judge_cases() -> JudgeRun:
    """Judge five cases in both positions.

    The timelines of the last one are alike, and it has no findings.
    """
    dataset = factories.make_dataset()
    alike = (replace(next(iter(SOURCES.values()))[0], event="coughed"),)
    for number in range(1, 6):
        make_case(dataset, f"case-{number}", dict.fromkeys(SOURCES, alike) if number == 5 else None)
    return make_judged_run(dataset, swap=True)


def test_shares_and_ratings_follow_from_both_files_alone(run):
    fetch = Fetch(run)
    points: dict[tuple[str, str], float] = defaultdict(float)
    for finding in table(fetch("findings", "csv")):
        if finding["charged_source"]:
            points[finding["game"], finding["charged_source"]] += float(finding["points"])
    games = [
        g
        for g in table(fetch("games", "csv"))
        if g["outcome"] == "judged" and g["swapped"] == "false"
    ]
    charged = [
        (points[g["game"], g["first_source"]], points[g["game"], g["second_source"]]) for g in games
    ]
    found = [share(*both) for both in charged]
    assert [(float(g["points_first"]), float(g["points_second"])) for g in games] == charged
    assert [float(g["share_first"]) for g in games] == pytest.approx(found)
    # As the dashboard has it, game by game.
    columns, report = load_games(run), compute_report(run)
    assert found == pytest.approx(compute_shares(costs(columns)).tolist())
    assert [g["case_id"] for g in games if g["findings"] == "0"] == ["case-5"] * 3
    assert [s for g, s in zip(games, found, strict=True) if g["findings"] == "0"] == [0.5] * 3
    names = list(report.sources)
    first, second = (
        [names.index(g[f"{side}_source"]) for g in games] for side in ("first", "second")
    )
    rated = ratings(first, second, found, len(names))
    low, high, _ = interval(
        bootstrap_ratings(first, second, found, [g["case_id"] for g in games], len(names))
    )
    expected = report.rated.ratings
    assert [r.source for r in expected] == names
    assert rated.tolist() == pytest.approx([r.rating for r in expected], abs=1e-6)
    assert (low.tolist(), high.tolist()) == (
        pytest.approx([r.low for r in expected]),
        pytest.approx([r.high for r in expected]),
    )
    assert mean_shares(first, second, found, len(names)).tolist() == pytest.approx(
        [r.mean_share for r in expected]
    )
    draws = np.isclose(found, 0.5)
    assert [
        int(sum(draws[n] for n in range(len(games)) if at in (first[n], second[n])))
        for at in range(len(names))
    ] == [r.draws for r in expected]


def test_the_three_formats_hold_the_same_values_and_the_dictionary_every_column(run):
    fetch = Fetch(run)
    by_json = [json.loads(line) for line in fetch("games", "jsonl").splitlines()]
    assert pq.read_table(io.BytesIO(fetch("games", "parquet"))).to_pylist() == by_json
    by_csv = table(fetch("games", "csv"))
    assert (
        [row["game"] for row in by_csv]
        == [row["game"] for row in by_json]
        == [g.public_id for g in run.games.order_by("pk")]
    )
    assert [row["column"] for row in table(fetch("games", "dictionary"))] == list(by_csv[0])
    assert {row["protocol"] for row in by_json} == {"no reference"}
    for row, game in zip(by_json, run.games.order_by("pk"), strict=True):
        assert row["findings"] == game.findings.count()
        assert row["decisive"] == game.findings.exclude(category="").count()
        sides = (row["first_source"], row["second_source"])
        assert (row["a_source"], row["b_source"]) == (sides if game.a_is_first else sides[::-1])


def test_games_without_an_answer_have_no_share():
    dataset = factories.make_dataset()
    make_case(dataset, "one")
    run = make_judged_run(dataset, FixedJudge(refuse=frozenset({7})))
    # Which of the others are judged depends on who was drawn as A; that of the two timelines with
    # seven rows never is.
    waiting = run.games.exclude(pk=run.games.filter(outcome="unjudged").first().pk).first()
    Finding.objects.filter(game=waiting).delete()
    factories.change_past_guards(
        Game.objects.filter(pk=waiting.pk), outcome="", state="queued", a_is_first=None
    )
    by_game = {
        row["game"]: row
        for row in games_export.lines(run, games_export.find_exportable_games(run, EVERYTHING))
    }
    assert {row["outcome"] for row in by_game.values()} >= {"unjudged", "open"}
    for row in by_game.values():
        if row["outcome"] != "judged":
            assert (row["points_first"], row["points_second"], row["share_first"]) == (
                None,
                None,
                None,
            )
    assert by_game[waiting.public_id]["a_source"] is None


def test_a_superseded_submission_keeps_the_name_that_the_run_has_for_it():
    run = make_judged_world(cases=1).run
    before = {
        row["game"]: row["first_source"]
        for row in games_export.lines(run, games_export.find_exportable_games(run, EVERYTHING))
    }
    author = next(t for t in Timeline.objects.filter(source__startswith="author:"))
    Timeline.objects.filter(pk=author.pk).update(source=f"{author.source}#1")
    fetch = Fetch(run)
    assert {row["game"]: row["first_source"] for row in table(fetch("games", "csv"))} == before
    named = {
        row[f"{side}_source"]
        for row in table(fetch("findings", "csv"))
        for side in ("first", "second")
    }
    assert named == set(compute_report(run).sources)


def test_the_number_of_queries_does_not_grow_and_no_word_leaves():
    counts = []
    for cases in (1, 3):
        run = make_judged_world(cases=cases).run
        with CaptureQueriesContext(connection) as asked:
            assert (
                len(
                    list(
                        games_export.lines(run, games_export.find_exportable_games(run, EVERYTHING))
                    )
                )
                == 3 * cases
            )
        counts.append(len(asked))
    assert counts[0] == counts[1]
    content = Fetch(run)("games", "jsonl")
    for secret in (b"Fever", b"chest pain", b"fractured hip", b"the stand-in says so", b"lactate"):
        assert secret not in content


def test_closed_cases_stay_away_and_the_trail_says_who_took_what(run):
    case = run.games.first().comparison.encounter
    closed = ClosedObjects(frozenset({case.pk}), frozenset())
    left = {
        row["case_id"]
        for row in games_export.lines(run, games_export.find_exportable_games(run, closed))
    }
    assert left == {f"case-{n}" for n in range(1, 6)} - {case.case_id}
    fetch = Fetch(run)
    fetch("games", "csv")
    event = AuditEvent.objects.get(action="games.export", object_id=run.public_id)
    assert event.detail == {"format": "csv", "games": run.games.count()}
    assert (
        AuditEvent.objects.filter(action="case.unblinded", detail={"page": "games file"}).count()
        == 5
    )


def test_the_pages_lead_to_the_files(run):
    client = Fetch(run).client
    for page in ("findings", "dashboard"):
        content = client.get(reverse(f"adjudication:{page}", args=[run.public_id])).content.decode()
        for format in ("csv", "jsonl", "parquet"):
            assert reverse("adjudication:games_download", args=[run.public_id, format]) in content
