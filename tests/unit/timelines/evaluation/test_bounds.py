"""Coverage and width of bounds, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from timelines.evaluation.bootstrap import percentile_interval, resample_indices
from timelines.evaluation.bounds import (
    NO_BOUNDS,
    NO_CLOSED,
    NO_TIMED,
    split_by_width,
    within_bounds,
)
from timelines.evaluation.naming import name_way
from timelines.evaluation.plain import report_from_plain, report_to_plain
from timelines.evaluation.report import evaluate
from timelines.evaluation.tables import all_tables, bounds, reliability
from timelines.evaluation.values import (
    Basis,
    BoundsOf,
    BoundsResult,
    EvaluatedCase,
    EvaluationSettings,
    PlacedEvent,
    Report,
    SourceKey,
)

KEY = SourceKey("rules", "revised")
SETTINGS = EvaluationSettings(bases=(Basis.SPAN,), resamples=40)
Bounds = tuple[float | None, float | None]


@pytest.mark.parametrize(
    ("time", "lower", "upper", "within"),
    [
        (5.0, 4.0, 6.0, True),
        (4.0, 4.0, 4.0, True),
        (4.0, 4.02, 6.0, True),
        (4.0, 4.021, 6.0, False),
        (6.02, 4.0, 6.0, True),
        (6.021, 4.0, 6.0, False),
        (-900.0, -math.inf, 6.0, True),
        (7.0, -math.inf, 6.0, False),
        (900.0, 4.0, math.inf, True),
        (3.0, 4.0, math.inf, False),
        (3.0, -math.inf, math.inf, True),
    ],
)
def test_a_time_is_within_bounds_up_to_the_tolerance(time, lower, upper, within):
    assert within_bounds([time], [lower], [upper]).tolist() == [within]


@pytest.mark.parametrize(
    ("widths", "groups"),
    [
        ([], []),
        ([7.0], [[7.0]]),
        ([3.0, 1.0, 2.0], [[1.0], [2.0], [3.0]]),
        (list(range(10, 0, -1)), [[n] for n in range(1, 11)]),
        # of 12, the tenths end at ranks 2, 3, 4, 5, 6, 8, 9, 10, 11 and 12
        (range(1, 13), [[1, 2], [3], [4], [5], [6], [7, 8], [9], [10], [11], [12]]),
        # equal widths stay together
        ([1, 1, 1, 1, 1, 1, 1, 1, 2, 5], [[1] * 8, [2], [5]]),
        ([0.0, 0.0, 0.0], [[0.0, 0.0, 0.0]]),
    ],
)
def test_widths_are_split_into_tenths(widths, groups):
    values = np.array(widths, dtype=float)
    assert [sorted(values[chosen]) for chosen in split_by_width(values)] == groups


#: Reference time, bounds, whether stated, way of decision.
Pair = tuple[float | None, Bounds, bool | None, str]
FIRST: tuple[Pair, ...] = (
    (0.0, (-1.0, 1.0), True, "matched"),  # within, 2 h wide
    (10.0, (10.02, 14.02), False, "narrative"),  # within by the tolerance, 4 h wide
    (20.0, (None, 19.9), False, "narrative"),  # after it, open
    (30.0, (None, None), None, "event"),  # no bounds
    (None, (0.0, 1.0), True, "matched"),  # does not count
)
SECOND: tuple[Pair, ...] = ((5.0, (6.0, 8.0), True, "matched"),)  # before it, 2 h wide

#: Reference time and bounds.
LIKE = ((0.2, 0.1, 0.4), (0.5, 0.3, 0.6))


def make_case(name: str, *pairs: Pair) -> EvaluatedCase:
    """Return a case of these pairs, and an unpaired occurrence on each side."""
    spans = [(20 * n, 20 * n + 10) for n in range(len(pairs))]
    reference = [
        PlacedEvent(f"r{n}", "words", time, *span)
        for n, ((time, *_), span) in enumerate(zip(pairs, spans, strict=True))
    ]
    predicted = [
        PlacedEvent(f"p{n}", "words", None, *span, lower=low, upper=high, stated=stated, way=way)
        for n, ((_, (low, high), stated, way), span) in enumerate(zip(pairs, spans, strict=True))
    ]
    return EvaluatedCase(
        name,
        "demo",
        (*reference, PlacedEvent("missed", "words", 3.0, 900, 910)),
        {KEY: (*predicted, PlacedEvent("extra", "words", 3.0, 800, 810, lower=3.0, upper=99.0))},
    )


def evaluate_cases(*cases: EvaluatedCase) -> Report:
    return evaluate(cases, settings=SETTINGS, reference="reference")


def evaluate_bounds_of(*cases: EvaluatedCase) -> BoundsResult:
    (found,) = evaluate_cases(*cases).bounds
    return found


def test_groups_by_hand():
    missing = EvaluatedCase("three", "demo", (PlacedEvent("r", "words", 1.0, 0, 10),), {})
    found = evaluate_bounds_of(make_case("one", *FIRST), make_case("two", *SECOND), missing)
    assert (found.key, found.basis) == (KEY, Basis.SPAN)
    figures = [
        (
            group.of,
            group.way,
            group.occurrences,
            group.coverage.value,
            None if group.width.value is None else round(group.width.value, 9),
            group.width.n,
            group.open.value,
        )
        for group in found.groups
    ]
    assert figures == [
        (BoundsOf.ALL, "", 5, 0.6, 2.0, 3, 0.4),
        (BoundsOf.STATED, "", 2, 0.5, 2.0, 2, 0.0),
        (BoundsOf.NOT_STATED, "", 2, 0.5, 4.0, 1, 0.5),
        (BoundsOf.WAY, "matched", 2, 0.5, 2.0, 2, 0.0),
        (BoundsOf.WAY, "narrative", 2, 0.5, 4.0, 1, 0.5),
        (BoundsOf.WAY, "event", 1, None, None, 0, 1.0),
    ]
    without = found.groups[-1]
    assert (without.coverage.why, without.width.why) == (NO_BOUNDS, NO_CLOSED)
    assert without.coverage.n == 1


def test_intervals_are_over_cases():
    found = evaluate_bounds_of(make_case("one", *FIRST), make_case("two", *SECOND))
    inside, closed, sizes = (3, 0), ([2.0, 4.0], [2.0]), (4, 1)
    shares, medians = [], []
    for drawn in resample_indices(2, SETTINGS.resamples, SETTINGS.seed).tolist():
        shares.append(sum(inside[c] for c in drawn) / sum(sizes[c] for c in drawn))
        medians.append(float(np.median([w for c in drawn for w in closed[c]])))
    overall = found.groups[0]
    assert (overall.coverage.low, overall.coverage.high) == percentile_interval(shares)
    assert (overall.width.low, overall.width.high) == pytest.approx(percentile_interval(medians))
    assert overall.coverage.low != overall.coverage.high


def test_coverage_by_width_has_closed_bounds_alone():
    found = evaluate_bounds_of(make_case("one", *FIRST), make_case("two", *SECOND))
    assert [
        (round(w.narrowest, 9), round(w.widest, 9), round(w.median, 9), w.coverage.n)
        for w in found.widths
    ] == [(2.0, 2.0, 2.0, 2), (4.0, 4.0, 4.0, 1)]
    assert [w.coverage.value for w in found.widths] == [0.5, 1.0]


def test_widths_that_differ_by_rounding_are_one_group():
    # 0.4 - 0.1 and 0.6 - 0.3 are two numbers
    pairs = [(time, (low, high), True, "matched") for time, low, high in LIKE]
    assert len({high - low for _, low, high in LIKE}) == 2
    assert [w.coverage.n for w in evaluate_bounds_of(make_case("one", *pairs)).widths] == [2]


def test_further_alternatives_are_left_out():
    case = make_case("two", *SECOND)
    second = SourceKey("rules", "revised", 2)
    both = EvaluatedCase(
        "two", "demo", case.reference, {**case.timelines, second: case.timelines[KEY]}
    )
    report = evaluate_cases(both)
    assert [r.key for r in report.results] == [KEY, second]
    assert [b.key for b in report.bounds] == [KEY]


def test_a_single_way_is_no_group_of_its_own():
    found = evaluate_bounds_of(make_case("two", *SECOND))
    assert [group.of for group in found.groups] == [BoundsOf.ALL, BoundsOf.STATED]
    assert (found.groups[0].coverage.low, found.groups[0].coverage.high) == (None, None)


def test_without_a_timed_pair_the_reason_is_given():
    found = evaluate_bounds_of(make_case("one", FIRST[-1]))
    (overall,) = found.groups
    assert overall.occurrences == 0
    assert [e.why for e in (overall.coverage, overall.width, overall.open)] == [NO_TIMED] * 3
    assert found.widths == ()


@pytest.mark.parametrize(
    ("source", "decided_by", "link", "way"),
    [
        ("rules", "narrative", "", "narrative"),
        ("rules/no_uid", "rules: moved with neighbours", "", "rules: moved with neighbours"),
        ("rules", "rules: evidence row", "matched", "matched"),
        ("prompted:GLM-4.6", "zai-org/GLM-4.6@abc", "cited", "cited"),
        ("prompted:GLM-4.6", "zai-org/GLM-4.6@abc", "", ""),
        ("imported", "", "", ""),
    ],
)
def test_a_way_is_the_link_or_the_rule(source, decided_by, link, way):
    assert name_way(source, decided_by, link) == way


def test_tables_have_every_group_in_words():
    report = evaluate_cases(make_case("one", *FIRST), make_case("two", *SECOND))
    table = bounds(report, Basis.SPAN)
    assert [row[1] for row in table.rows] == [
        "All",
        "Stated",
        "Not stated",
        "Row matched by a rule",
        "Rule: narrative",
        "Rule: event",
    ]
    assert table.to_csv().splitlines()[6].startswith("rules · revised,Rule: event,1,,,,,,,1.0,")
    assert reliability(report, Basis.SPAN).plain()["rows"][0][1]["value"] == 2.0
    names = [made.name for made in all_tables(report, Basis.SPAN)]
    assert names[-2:] == ["bounds", "reliability"]


def test_a_report_stored_earlier_has_no_bounds():
    plain = report_to_plain(evaluate_cases(make_case("two", *SECOND)))
    assert report_from_plain(plain).bounds[0].groups[0].occurrences == 1
    del plain["bounds"]
    report = report_from_plain(plain)
    assert report.bounds == ()
    assert "bounds" not in [made.name for made in all_tables(report, Basis.SPAN)]
