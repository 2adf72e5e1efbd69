"""Reports on judge runs: figures by hand, and the published ones.

The published ones follow from counts.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from adjudication.domain import FindingType
from adjudication.reports.league import tables
from adjudication.reports.league.compute import (
    compute_shares,
    costs,
    judge_report,
    matchups,
    profiles,
    rate_sources,
)
from adjudication.reports.league.values import CATEGORIES, FindingRow, Games
from adjudication.scoring.errors import Category
from adjudication.study_report.published import load_published
from tests.unit.adjudication.packets.overlaps import count_overlaps

PUBLISHED = load_published()
WRONG_TIME, OVER, NEGATIVE = Category.WRONG_TIME, Category.OVER_ANNOTATION, Category.MISSED_NEGATIVE


def games(*played, sources=("a", "b", "c"), strata=("one",), timing=(), flagged=(), unjudged=None):
    """Return games of `played` and of `timing`.

    `played`: (first, second, case, stratum, errors of the first, errors of the second); `timing`:
    (game, side, apart, far).
    """
    charges = np.zeros((len(played), 2, len(CATEGORIES)), np.int64)
    for n, (*_, one, two) in enumerate(played):
        for side, errors in enumerate((one, two)):
            for category in errors:
                charges[n, side, CATEGORIES.index(category)] += 1
    marked = np.zeros((len(played), 2), np.int64)
    for game, side in flagged:
        marked[game, side] += 1
    columns = [np.array([p[k] for p in played], np.int64) for k in range(4)]
    return Games(
        sources, strata, *columns, charges=charges, flagged=marked, findings=charges.sum((1, 2)) + 1, flagged_findings=marked.sum(1),
        timing_game=np.array([t[0] for t in timing], np.int64), timing_side=np.array([t[1] for t in timing], np.int64),
        timing_apart=np.array([t[2] for t in timing], float), timing_far=np.array([t[3] for t in timing], float),
        unjudged=unjudged or {}, open={},
    )  # fmt: skip


THREE: tuple[tuple[Any, ...], ...] = (
    (0, 1, 10, 0, [WRONG_TIME], [OVER]),  # 2 against 3 points: the first earns 3/5
    (0, 1, 11, 0, [], []),  # empty: one half
    (0, 1, 12, 0, [], [NEGATIVE, NEGATIVE]),  # 0 against 1: the first earns all
)


def test_shares_ratings_and_record_by_hand():
    played = games(*THREE, sources=("a", "b"))
    assert costs(played).tolist() == [[2.0, 3.0], [0.0, 0.0], [0.0, 1.0]]
    assert compute_shares(costs(played)).tolist() == [0.6, 0.5, 1.0]
    found = rate_sources(played, "x", resamples=50)
    first, second = found.ratings
    # 2.1 of 3 points: ln θ differs by ln(2.1 / 0.9), half of it on each side of 1500.
    assert first.rating == pytest.approx(1500 + 400 / np.log(10) * np.log(2.1 / 0.9) / 2)
    assert (first.source, first.wins, first.losses, first.ties, first.draws, first.empty) == (
        "a",
        2,
        0,
        0,
        1,
        1,
    )
    assert (second.wins, second.losses, second.mean_share) == (0, 2, pytest.approx(0.3))
    assert (found.games, found.draws) == (3, 1)


def test_flagged_wrong_times_can_be_left_out():
    played = games(*THREE, sources=("a", "b"), flagged=[(0, 0)])
    assert rate_sources(played, "x", resamples=20).ratings[0].flagged == 1
    without = rate_sources(played, "x", less=played.flagged.astype(float), resamples=20)
    assert compute_shares(costs(played, less=played.flagged.astype(float))).tolist() == [
        1.0,
        0.5,
        1.0,
    ]
    assert without.ratings[0].flagged == 0


def test_what_has_no_rating_says_why_and_names_sources():
    alone = rate_sources(
        games((0, 1, 1, 0, [], [OVER]), sources=("ours", "theirs")), "x", resamples=20
    )
    assert alone.ratings[0].rating is None
    assert "ours" in alone.why
    apart = games(
        (0, 1, 1, 0, [OVER], [OVER]), (2, 3, 1, 0, [OVER], [OVER]), sources=("a", "b", "c", "d")
    )
    assert "never" in rate_sources(apart, "x", resamples=20).why
    assert rate_sources(games(sources=("a", "b")), "x", resamples=20).ratings == ()


def test_the_average_source_is_as_published():
    """Errors of all games over the games of all sources: 374 and 748."""
    counts = PUBLISHED["decisive_counts"]
    errors = [category for category in Category for _ in range(counts[category.value])]
    played = [(0, 1, n, 0, [], []) for n in range(374)]
    played[0] = (0, 1, 0, 0, errors, [])
    average = profiles(games(*played, sources=("a", "b")))[-1]
    assert average.games == 748
    for category, rate in zip(CATEGORIES, average.a_matchup, strict=True):
        assert round(rate, 2) == PUBLISHED["average_source_per_matchup"][category.value]
    assert round(sum(average.a_matchup), 1) == PUBLISHED["average_source_per_matchup"]["total"]


def test_penalties_are_weighted_cost_a_matchup():
    first, second, average = profiles(games(*THREE, sources=("a", "b")))
    assert (first.games, first.penalty) == (3, pytest.approx(2 / 3))
    assert second.penalty == pytest.approx(4 / 3)
    assert average.penalty == pytest.approx(6 / 6)


def test_pairs_pool_their_points_and_count_what_is_missing():
    played = games(*THREE, (0, 2, 10, 0, [], [OVER]), unjudged={(1, 2): 2})
    pairs = {(m.first, m.second): m for m in matchups(played, resamples=100)}
    ab = pairs["a", "b"].result
    assert (ab.points, ab.share, ab.empty) == (6.0, pytest.approx(4 / 6), 1)
    assert pairs["b", "c"].unjudged == 2
    assert pairs["b", "c"].result.cases == 0


def test_strata_are_rated_by_themselves_and_only_where_there_are_several():
    played = games(
        *THREE,
        (1, 0, 13, 1, [OVER], [WRONG_TIME]),
        sources=("a", "b"),
        strata=("unaided", "assisted"),
    )
    report = judge_report(played, resamples=20)
    assert [s.name for s in report.strata] == ["unaided", "assisted"]
    assert all(sum(r.rating for r in s.ratings) == pytest.approx(3000) for s in report.strata)
    assert judge_report(games(*THREE, sources=("a", "b")), resamples=20).strata == ()


def test_a_tolerance_leaves_out_times_inside_it_and_keeps_those_of_no_number():
    timing = [(0, 0, 4.0, 100.0), (2, 1, float("nan"), float("nan"))]
    played = games(
        (0, 1, 1, 0, [WRONG_TIME], [OVER]),
        THREE[1],
        (0, 1, 3, 0, [], [WRONG_TIME]),
        sources=("a", "b"),
        timing=timing,
    )
    steps = {s.words: s for s in judge_report(played, resamples=20).tolerance}
    assert (steps["beyond 3 h"].charged, steps["beyond 3 h"].left_out) == (2, 0)
    # 4 h are within 10 % of 100 h; N/A against a time is within nothing.
    assert (steps["beyond max(3 h, 10 %)"].charged, steps["beyond max(3 h, 10 %)"].left_out) == (
        1,
        1,
    )


def test_two_judgings_are_laid_side_by_side_by_subject():
    def finding(comparison, subject, kind, verdict, charged=None):
        return FindingRow(
            comparison,
            subject,
            FindingType(kind),
            verdict,
            "x" if charged is not None else "",
            charged,
        )

    first = [
        finding(1, "s1", "TIMING", "first", False),
        finding(1, "s2", "A_ONLY", "UNCLEAR"),
        finding(2, "s1", "TIMING", "second", True),
    ]
    second = [
        finding(1, "s1", "TIMING", "first", False),
        finding(1, "s2", "B_ONLY", "UNCLEAR"),
        finding(2, "s1", "TIMING", "first", False),
    ]
    rows = {o.type: o for o in count_overlaps(first, second)}
    assert (rows["all"].both, rows["all"].alike, rows["all"].shared) == (3, 2, 1.0)
    assert (rows["TIMING"].both, rows["TIMING"].alike) == (2, 1)
    assert (rows["one-sided"].both, rows["one-sided"].same) == (1, 1.0)
    assert count_overlaps(first[:1], [])[0].shared == 0.0


def test_every_table_can_be_written_in_every_form():
    report = judge_report(
        games(*THREE, (0, 2, 10, 0, [], [OVER]), (2, 1, 11, 0, [OVER], [OVER])), resamples=20
    )
    for name, build in tables.TABLES.items():
        table = build(report)
        assert table.name == name
        assert table.to_csv().splitlines()[0].split(",")[0].strip('"') == table.heads[0]
        assert table.to_latex().startswith("%")
        assert json.loads(table.to_json())["name"] == name
