"""Aligned stays, density, courses, lanes and curves."""

from __future__ import annotations

import math

import polars as pl
import pytest

from cohorts.trajectories.aligning import ADMISSION, align, count_density, find_courses
from cohorts.trajectories.lanes import Order, cut_lanes, order_stays
from cohorts.trajectories.survival import Interval, draw_curves, find_intervals

STAYS = pl.DataFrame({"stay": [1, 2, 3], "discharge": [48.0, 24.0, None]})


def make_facts(*facts):
    """Return facts of (stay, concept, point), with bounds or without."""
    rows = [(*f, f[2], f[2]) if len(f) == 3 else f for f in facts]
    return pl.DataFrame(
        [(s, c, n, n, p, lo, up) for n, (s, c, p, lo, up) in enumerate(rows)],
        schema={
            "stay": pl.Int64,
            "concept": pl.String,
            "fact": pl.Int64,
            "ordinal": pl.Int32,
            "point": pl.Float64,
            "lower": pl.Float64,
            "upper": pl.Float64,
        },
        orient="row",
    )


FACTS = make_facts(
    (1, "tube", 5.0, 4.0, 6.0),
    (1, "tube", 30.0),
    (1, "drug", 8.0, 7.0, 10.0),
    (2, "drug", 3.0),
    (2, "tube", 9.0),
    (3, "drug", None, -math.inf, math.inf),
)


def test_hour_zero_is_the_first_of_a_concept_and_bounds_are_those_of_both():
    aligned = align(FACTS, STAYS, "tube")
    assert aligned.stays.rows() == [(1, 5.0, 4.0, 6.0, 43.0), (2, 9.0, 9.0, 9.0, 15.0)]
    assert aligned.without == (3,)
    assert aligned.facts.select("stay", "concept", "at", "lower", "upper").rows() == [
        (1, "tube", 0.0, -2.0, 2.0),
        (1, "drug", 3.0, 1.0, 6.0),
        (1, "tube", 25.0, 24.0, 26.0),
        (2, "drug", -6.0, -6.0, -6.0),
        (2, "tube", 0.0, 0.0, 0.0),
    ]


def test_without_a_concept_hour_zero_is_admission():
    aligned = align(FACTS, STAYS, ADMISSION)
    assert aligned.without == ()
    assert aligned.stays.select("stay", "end").rows() == [(1, 48.0), (2, 24.0), (3, None)]


def test_later_admission_changes_nothing_that_is_aligned_at_a_concept():
    later = FACTS.with_columns(pl.col("point", "lower", "upper") + 7)
    moved = align(later, STAYS.with_columns(pl.col("discharge") + 7), "tube")
    aligned = align(FACTS, STAYS, "tube")
    assert moved.facts.equals(aligned.facts)
    assert moved.stays["end"].equals(aligned.stays["end"])


def test_a_bin_contains_its_left_edge():
    density = count_density(align(FACTS, STAYS, "tube"), -6.0, 26.0, 3.0)
    assert density.rows() == [
        ("drug", -6.0, 1, 1),
        ("drug", 3.0, 1, 1),
        ("tube", 0.0, 2, 2),
        ("tube", 24.0, 1, 1),
    ]


def test_a_condition_recurs_after_a_day_without_it():
    facts = make_facts((1, "fever", 2.0), (1, "fever", 20.0), (1, "fever", 44.0), (2, "fever", 9.0))
    assert find_courses(facts, "fever").rows() == [(1, 2.0, 1, 44.0), (2, 9.0, 0, 9.0)]
    assert find_courses(facts, "none").is_empty()


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Order.LENGTH, [1, 2, 3]),
        (Order.FIRST, [2, 1, 3]),
        (Order.GROUP, [3, 1, 2]),
        (Order.SIMILAR, [2, 1, 3]),
    ],
)
def test_lanes_have_the_order_that_was_asked_for(order, expected):
    aligned = align(FACTS, STAYS, ADMISSION)
    stays = order_stays(aligned, order, {1: "b", 2: "b", 3: "a"})
    assert stays == expected
    lanes = dict(cut_lanes(aligned, stays).select("stay", "lane").unique().iter_rows())
    assert lanes == {stay: expected.index(stay) for stay in (1, 2)}


def test_intervals_end_at_discharge_and_leave_out_what_came_before():
    times = find_intervals(align(FACTS, STAYS, "tube"), "drug")
    assert times.before == (2,)
    assert times.intervals == (Interval(1, 1.0, 6.0),)
    of_admission = find_intervals(align(FACTS, STAYS, ADMISSION), "tube")
    # The stay without a discharge and without the event says nothing: it is censored at hour 0.
    assert of_admission.intervals == (
        Interval(1, 4.0, 6.0),
        Interval(2, 9.0, 9.0),
        Interval(3, 0.0, math.inf),
    )


def test_exact_times_give_the_product_limit_curve():
    # 4 stays: events at 2 and 4, one censored at 3, one at 5. S = 3/4, then 3/4 · 1/2.
    found = [
        Interval(1, 2, 2),
        Interval(2, 3, math.inf),
        Interval(3, 4, 4),
        Interval(4, 5, math.inf),
    ]
    (curve,) = draw_curves(found)
    steps = dict(zip(curve.times, curve.lowest, strict=True))
    assert (steps[2.0], steps[4.0]) == pytest.approx((0.75, 0.375))
    assert curve.lowest == curve.highest
    assert curve.at_risk == (4, 0, 0, 0, 0, 0, 0)
    assert (curve.stays, curve.events) == (4, 2)


def test_wide_bounds_open_a_band_where_they_do_not_decide():
    # Each event happened in (0, 10]: the share may be 0 from the beginning and is 0 at the end.
    (curve,) = draw_curves([Interval(1, 0, 10), Interval(2, 0, 10)])
    assert curve.times == (0.0, 10.0)
    assert curve.lowest == pytest.approx((0.0, 0.0), abs=1e-3)
    assert curve.highest == pytest.approx((1.0, 0.0), abs=1e-3)


def test_exact_times_among_wide_ones_fall_at_their_time():
    # 4 stays: at 2; in (4, 6]; in (0, 10]; censored at 3. Turnbull: by 2 one third, by 6 all.
    found = [Interval(1, 2, 2), Interval(2, 4, 6), Interval(3, 0, 10), Interval(4, 3, math.inf)]
    (curve,) = draw_curves(found)
    high = dict(zip(curve.times, curve.highest, strict=True))
    assert high[2.0] == pytest.approx(2 / 3, abs=0.01)
    assert high[6.0] == pytest.approx(0.0, abs=0.01)
    assert all(low <= up + 1e-9 for low, up in zip(curve.lowest, curve.highest, strict=True))


def test_groups_have_curves_of_their_own_and_no_event_is_a_level_line():
    found = [Interval(1, 2, 2), Interval(2, 9, math.inf)]
    first, second = draw_curves(found, {1: "a", 2: "b"})
    assert (first.group, first.events, second.group, second.events) == ("a", 1, "b", 0)
    assert (second.times, second.lowest) == ((0.0,), (1.0,))
