"""The plot's axis by hand: ticks, lanes, rows.

Position = ZERO ∓ side · ln(1 + h/3) / ln(1 + extent/3).
"""

from __future__ import annotations

import math
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.domain import Lane
from timelines.presentation.plots import ROW_GAP, ZERO, Axis, Mark, build_axis, density, lanes

WEEK_AXIS = Axis(past=168.0, future=168.0)


def test_admission_always_stands_at_the_same_place():
    assert (
        Axis(past=24.0, future=24.0).position(0.0)
        == Axis(past=876000.0, future=720.0).position(0.0)
        == ZERO
        == 0.36
    )


def test_positions_by_hand():
    # ln(1 + 168/3) = ln 57 = 4.04305; ln(1 + 6/3) = ln 3 = 1.09861; ln(1 + 24/3) = ln 9 = 2.19722
    assert WEEK_AXIS.position(6.0) == pytest.approx(0.36 + 0.64 * 1.09861 / 4.04305, abs=1e-5)
    assert WEEK_AXIS.position(-24.0) == pytest.approx(0.36 * (1 - 2.19722 / 4.04305), abs=1e-5)
    assert WEEK_AXIS.position(168.0) == pytest.approx(1.0)
    assert WEEK_AXIS.position(-168.0) == pytest.approx(0.0)


def test_times_beyond_the_extent_stand_at_the_edge():
    assert WEEK_AXIS.position(-1e7) == 0.0
    assert WEEK_AXIS.position(1e7) == 1.0


@given(st.floats(-160, 160), st.floats(-160, 160))
def test_later_is_never_further_left(first, second):
    earlier, later = sorted((first, second))
    assert WEEK_AXIS.position(earlier) <= WEEK_AXIS.position(later)


@given(st.floats(0.01, 168))
def test_both_sides_bend_alike(hours):
    left = (ZERO - WEEK_AXIS.position(-hours)) / ZERO
    right = (WEEK_AXIS.position(hours) - ZERO) / (1 - ZERO)
    assert math.isclose(left, right, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("times", "discharge", "extent"),
    [
        ([], None, (24.0, 24.0)),
        ([-20.0, 10.0], 40.0, (24.0, 72.0)),
        ([-25.0], 210.0, (168.0, 336.0)),
        ([-87600.0, 168.0], None, (87600.0, 168.0)),
        ([-9e5], None, (876000.0, 24.0)),
    ],
)
def test_the_extent_is_the_next_step_of_its_ladder(times, discharge, extent):
    axis = build_axis(times, discharge)
    assert (axis.past, axis.future) == extent


def test_ticks_are_ones_a_person_would_say():
    words = [tick.words for tick in Axis(past=87600.0, future=168.0).ticks() if tick.rank <= 1]
    assert words == [
        "−10 y",
        "−1 y",
        "−30 d",
        "−7 d",
        "−24 h",
        "0",
        "+6 h",
        "+24 h",
        "+3 d",
        "+7 d",
    ]


def test_day_ticks_follow_the_clock_of_admission():
    axis = Axis(past=168.0, future=168.0)
    ticks = axis.day_ticks(datetime(2131, 3, 5, 14), 48.0)
    assert [(t.words, t.rank) for t in ticks if t.rank <= 1] == [
        *[("7 d before", 1), ("24 h before", 1), ("14:00", 0), ("HD 2", 1), ("24 h after", 1)],
        ("3 d after", 1),
    ]
    assert next(t for t in ticks if t.words == "18:00").position == axis.position(4.0)
    assert next(t for t in ticks if t.words == "HD 3").position == axis.position(34.0)
    assert next(t for t in ticks if t.words == "3 d after").position == axis.position(120.0)
    assert [t.position for t in ticks] == sorted(t.position for t in ticks)
    # Without a discharge the days go on to the end.
    assert "HD 8" in [t.words for t in axis.day_ticks(datetime(2131, 3, 5, 14), None)]


def test_ticks_stand_at_their_hours_in_order():
    ticks = WEEK_AXIS.ticks()
    assert [t.position for t in ticks] == sorted(t.position for t in ticks)
    assert next(t for t in ticks if t.words == "+6 h").position == WEEK_AXIS.position(6.0)
    assert not [t for t in ticks if t.words in ("−14 d", "+10 d")]


def test_lanes_come_in_fixed_order_with_their_counts():
    marks = [Mark("a", Lane.LAB, 1.0), Mark("b", Lane.HISTORY, -9000.0), Mark("c", Lane.LAB, None)]
    found = lanes(marks, build_axis([-9000.0, 1.0], None))
    assert [(r.lane, r.count, r.unplaced, r.rows) for r in found] == [
        (Lane.HISTORY, 1, 0, 1),
        (Lane.LAB, 2, 1, 1),
    ]


def test_marks_at_one_time_take_rows_of_their_own():
    found = lanes([Mark(key, Lane.LAB, 5.0) for key in "abc"], WEEK_AXIS)[0]
    assert sorted(found.row_of.values()) == [0, 1, 2]


def test_a_shift_reserves_its_whole_length():
    found = lanes(
        [Mark("long", Lane.LAB, 100.0, text_time=2.0), Mark("inside", Lane.LAB, 24.0)], WEEK_AXIS
    )[0]
    assert found.row_of["long"] != found.row_of["inside"]


@given(st.lists(st.floats(-168, 168), max_size=40))
def test_marks_of_one_row_keep_their_distance(times):
    marks = [Mark(str(n), Lane.FINDING, time) for n, time in enumerate(times)]
    for lane in lanes(marks, WEEK_AXIS):
        for row in range(lane.rows):
            places = sorted(
                WEEK_AXIS.position(times[int(key)])
                for key, own in lane.row_of.items()
                if own == row
            )
            assert all(b - a >= ROW_GAP - 1e-9 for a, b in pairwise(places))


def test_density_counts_every_position_once():
    assert density([0.0, 0.04, 0.5, 1.0], 4) == [2, 0, 1, 1]
