"""Figures of the dashboard by hand; ratings as published.

Verdicts, preference for a label, controlled pairs, repeated subjects and links.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from adjudication.domain import FindingType
from adjudication.reports.league import tables
from adjudication.reports.league.compute import judge_report, rate_sources
from adjudication.reports.league.controlled import (
    ALTERNATIVE,
    RECORD,
    VARIANT,
    find_difference,
    is_second_fuller,
)
from adjudication.reports.league.overlapping import OverlapCounter
from adjudication.reports.league.pages import build_links, link_table
from adjudication.reports.league.values import CATEGORIES, FindingRow, Games
from adjudication.scoring.errors import Category
from adjudication.study_report.published import load_published
from tests.unit.adjudication.packets.overlaps import count_overlaps
from timelines.evaluation.values import SourceKey

PUBLISHED = load_published()
TEXT, REVISED = SourceKey("rules", "text_only"), SourceKey("rules", "revised")
OTHER = SourceKey("author:vega", "reference")
AT = {c: n for n, c in enumerate(CATEGORIES)}


def games(played, keys=(TEXT, REVISED, OTHER), **more):
    """Return games of `played`: (first, second, case, wrong times of each).

    The last two are wrong times of the first, and of the second.
    """
    charges = np.zeros((len(played), 2, len(CATEGORIES)), np.int64)
    for n, (*_, one, two) in enumerate(played):
        charges[n, :, AT[Category.WRONG_TIME]] = one, two
    columns = [np.array([p[k] for p in played], np.int64) for k in range(3)]
    none = np.zeros(0, np.int64)
    return Games(
        tuple(k.label for k in keys), ("one",), *columns, np.zeros(len(played), np.int64), charges=charges,
        flagged=np.zeros((len(played), 2), np.int64), findings=charges.sum((1, 2)), flagged_findings=np.zeros(len(played), np.int64),
        timing_game=none, timing_side=none, timing_apart=np.zeros(0), timing_far=np.zeros(0), unjudged={}, open={}, keys=keys, **more,
    )  # fmt: skip


PLAYED = [(0, 1, 1, 3, 1), (0, 1, 2, 2, 2), (0, 2, 1, 1, 1), (1, 2, 2, 0, 4), (1, 2, 1, 1, 0)]
TALLY = {
    ("TIMING", "decisive", "NOTE", False): 5,
    ("TIMING", "decisive", "TABLE", True): 2,
    ("TIMING", "UNCLEAR", "NONE", False): 1,
    ("one-sided", "decisive", "BOTH", False): 3,
    ("SHARED_UNSUPPORTED", "NEITHER", "NONE", False): 4,
}


def test_a_controlled_pair_differs_in_one_thing():
    assert find_difference(TEXT, REVISED) == find_difference(REVISED, TEXT) == RECORD
    assert find_difference(REVISED, SourceKey("rules/no_uid", "revised")) == VARIANT
    assert find_difference(REVISED, SourceKey("rules", "revised", 2)) == ALTERNATIVE
    more = [
        OTHER,
        SourceKey("prompted:GLM-4.6", "revised"),
        SourceKey("rules/no_uid", "text_only"),
        SourceKey("rules", "text_only", 2),
    ]
    assert [find_difference(REVISED, key) for key in more] == ["", "", "", ""]
    assert (
        find_difference(SourceKey("rules/no_uid", "revised"), SourceKey("rules/no_rows", "revised"))
        == ""
    ), "two variants differ in two things"
    assert is_second_fuller(TEXT, REVISED)
    assert not is_second_fuller(REVISED, TEXT)
    assert is_second_fuller(SourceKey("rules/no_uid", "revised"), REVISED)


def test_of_a_controlled_pair_the_fuller_one_stands_first():
    report = judge_report(games(PLAYED), resamples=20)
    pair = next(m for m in report.matchups if m.differ)
    assert (pair.first, pair.second, pair.differ) == (REVISED.label, TEXT.label, RECORD)
    # Points charged to text-only: 6 + 4, to revised: 2 + 4; the revised one earns 10 of 16.
    assert (pair.result.points, pair.result.share) == (16.0, pytest.approx(10 / 16))
    assert (pair.result.wins, pair.result.losses, pair.result.ties) == (1, 0, 1)
    assert sum(bool(m.differ) for m in report.matchups) == 1


def test_verdicts_are_counted_by_type_and_by_what_they_rest_on():
    report = judge_report(games(PLAYED, tally=TALLY, for_a=(6, 10)), resamples=20)
    everything, timing, one_sided, shared = report.verdicts
    assert (everything.type, everything.findings, everything.decisive, everything.flagged) == (
        "all",
        15,
        10,
        2,
    )
    assert (timing.findings, timing.decisive, timing.unclear, timing.flagged) == (8, 7, 1, 2)
    assert timing.groundings == (("NOTE", 5), ("TABLE", 2), ("BOTH", 0), ("NONE", 1))
    assert (one_sided.type, one_sided.findings, shared.neither) == ("one-sided", 3, 4)
    assert report.favoured is not None
    # Wilson by hand: (0.6 + 0.19207)/(1.38415) ± 1.96/1.38415·√(0.024 + 0.009604)
    low, high = report.favoured.low, report.favoured.high
    assert (report.favoured.rate, low, high) == (
        0.6,
        pytest.approx(0.3127, abs=1e-4),
        pytest.approx(0.8318, abs=1e-4),
    )
    assert judge_report(games(PLAYED), resamples=20).favoured is None, "no data gives none"


def test_one_case_has_ratings_and_no_interval():
    found = rate_sources(
        games([(0, 1, 7, 3, 1), (1, 2, 7, 1, 2), (0, 2, 7, 1, 1)]), "x", resamples=50
    )
    assert all(r.rating is not None and r.low is None and r.high is None for r in found.ratings)
    assert found.lost == 0


def test_several_findings_of_one_subject_are_held_together_in_their_order():
    def finding(verdict, charged=None, category="wrong_time"):
        return FindingRow(
            1, "s", FindingType.TIMING, verdict, category if charged is not None else "", charged
        )

    everything, _ = count_overlaps(
        [finding("first", False), finding("second", True)],
        [finding("first", False), finding("UNCLEAR")],
    )
    assert (everything.first, everything.second, everything.both, everything.alike) == (2, 2, 2, 1)
    again, _ = count_overlaps(
        [finding("first", False), finding("first", False)],
        [finding("second", True), finding("first", False, "missed_negative")],
    )
    assert (again.alike, again.charged_alike, again.turned) == (1, 0, 1)


def test_blocks_of_comparisons_add_up_to_the_whole():
    kinds = (FindingType.TIMING, FindingType.A_ONLY, FindingType.B_ONLY)
    first = [
        FindingRow(c, f"s{n}", kinds[n % 3], "first", "wrong_time", c % 2 == 0)
        for c in range(6)
        for n in range(4)
    ]
    second = [
        FindingRow(
            t.comparison, t.subject, t.type, t.verdict_first, t.category, t.comparison % 3 == 0
        )
        for t in first
        if t.subject != "s3"
    ]
    parts = OverlapCounter()
    for one, two in ((0, 2), (2, 6)):
        parts.add(*([t for t in rows if one <= t.comparison < two] for rows in (first, second)))
    assert parts.rows() == count_overlaps(first, second)
    everything = parts.rows()[0]
    # Of comparisons 0…5 the first charges its first timeline in 0, 2, 4 and the second in 0, 3:
    # they differ in 2, 3, 4.
    assert (everything.first, everything.second, everything.both, everything.turned) == (
        24,
        18,
        18,
        9,
    )
    assert [row.type for row in parts.rows()] == ["all", "TIMING", "one-sided"]


def test_numbers_lead_to_the_findings_that_they_count():
    report = judge_report(games(PLAYED, tally=TALLY), resamples=20)
    links = build_links(report)
    profile = link_table(tables.profile(report), links["profile"])
    at = profile.heads.index(next(h for h in profile.heads if h.words.startswith("wrong time")))
    assert [row[at].query for row in profile.rows] == [
        *(f"category=wrong_time&charged={n}" for n in range(3)),
        "category=wrong_time",
    ]
    over = next(n for n, h in enumerate(profile.heads) if h.words.startswith("over-annotation"))
    assert {row[over].query for row in profile.rows} == {""}, (
        "nothing is counted, so there is nothing to read"
    )
    ratings = link_table(tables.ratings(report), links["ratings"])
    flagged = next(n for n, h in enumerate(ratings.heads) if h.words == "Flagged charges")
    assert {at for _, at in links["ratings"]} == {flagged}
    verdicts = link_table(tables.verdicts(report), links["verdicts"])
    shown = [head.words for head in verdicts.heads]
    assert {"Both possible", "Based on note"} <= set(shown)
    assert {"Both stand", "Rests on note"} <= set(tables.verdicts(report).heads)
    timing = verdicts.rows[1]
    assert [c.query for c in timing[1:4]] == ["type=TIMING", "type=TIMING&verdict=decisive", ""]
    assert timing[6].query == "type=TIMING&flagged=1"
    assert timing[7].query == "type=TIMING&grounding=NOTE"


def test_published_ratings_and_mean_shares_come_out_of_whole_games():
    """The games have the published schedule, and the shares of its ratings.

    The shares are those that the published ratings predict; both columns follow from the games.
    """
    names = list(PUBLISHED["ratings"])
    keys = tuple(SourceKey(name, "revised") for name in names)
    per_game, played = 200, []
    for one, two, count in PUBLISHED["schedule"]:
        first, second = names.index(one), names.index(two)
        expected = 1 / (1 + 10 ** ((PUBLISHED["ratings"][two] - PUBLISHED["ratings"][one]) / 400))
        earned = np.diff(np.round(np.arange(count + 1) * expected * per_game)).astype(int)
        played += [(first, second, n, per_game - mine, mine) for n, mine in enumerate(earned)]
    found = rate_sources(games(played, keys), "prespecified", resamples=100)
    assert found.games == PUBLISHED["games"]
    for r in found.ratings:
        name = r.source.partition(" · ")[0]
        assert r.rating == pytest.approx(
            PUBLISHED["ratings"][name], abs=PUBLISHED["ratings_from_shares_tolerance"]
        )
        assert 100 * r.mean_share == pytest.approx(PUBLISHED["mean_share_percent"][name], abs=0.15)
    assert [r.source for r in found.ratings] == [k.label for k in keys], (
        "the published order, best first"
    )


def test_counts_in_files_are_numbers():
    report = judge_report(games(PLAYED, tally=TALLY), resamples=20)
    rows = json.loads(tables.ratings(report).to_json())["rows"]
    assert [(row[1], row[5]) for row in rows] == [(r.games, r.draws) for r in report.rated.ratings]
    counted = [
        row
        for build in tables.TABLES.values()
        for row in json.loads(build(report).to_json())["rows"]
    ]
    assert not [
        cell for row in counted for cell in row[1:] if isinstance(cell, str) and cell.isdigit()
    ]
