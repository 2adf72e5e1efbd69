"""The axis of a case page, by hand.

It is linear inside the stay and logarithmic around it."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.domain import Anchor
from timelines.presentation.axis import AFTER, BEFORE, MARGIN, StayAxis

#: Monday, 14:00.
ANCHOR = Anchor(datetime(2131, 3, 5, 14))
HOURS = st.floats(-9e5, 9e5, allow_nan=False)


def test_the_stay_is_linear_and_ends_at_the_same_places():
    axis = StayAxis.covering([-10.0, 200.0], 100.0)
    assert axis == StayAxis(100.0, past=24.0, future=168.0)
    assert axis.position(0.0) == BEFORE == 0.16
    assert axis.position(100.0) == pytest.approx(1 - AFTER)
    assert axis.position(25.0) == pytest.approx(0.16 + 0.72 / 4)
    # ln(1 + 6/3) / ln(1 + 24/3) = 1.09861 / 2.19722 = 0.5
    assert axis.position(-6.0) == pytest.approx(0.08)
    assert axis.position(-24.0) == axis.position(-9999.0) == 0.0
    assert axis.position(100.0 + 168.0) == axis.position(1e6) == 1.0


def test_a_side_without_times_takes_no_room():
    axis = StayAxis.covering([3.0], 48.0)
    assert (axis.admission, axis.discharge) == (MARGIN, 1 - MARGIN)
    assert StayAxis.covering([], None).stay == 6.0
    # Without a discharge the last time within a month ends the stay.
    assert StayAxis.covering([30.0, 8000.0], None).stay == 30.0


def test_days_and_nights_follow_the_clock_of_admission():
    axis = StayAxis(48.0)

    def hours(position: float) -> float:
        return round((position - MARGIN) / (1 - 2 * MARGIN) * 48.0, 6)

    days = [(b.words, hours(b.start), hours(b.end)) for b in axis.days(ANCHOR)]
    assert days == [("HD 1", 0.0, 10.0), ("HD 2", 10.0, 34.0), ("HD 3", 34.0, 48.0)]
    nights = [(hours(b.start), hours(b.end)) for b in axis.nights(ANCHOR)]
    assert nights == [(8.0, 16.0), (32.0, 40.0)]
    # Admitted at three in the morning, the stay begins in a night.
    early = [(hours(b.start), hours(b.end)) for b in axis.nights(Anchor(datetime(2131, 3, 5, 3)))]
    assert early == [(0.0, 3.0), (19.0, 27.0), (43.0, 48.0)]


def test_ticks_name_days_and_clock_times():
    inside = [(t.words, t.rank) for t in StayAxis(36.0).ticks(ANCHOR)]
    assert inside == [
        ("14:00", 0),
        *[("18:00", 3), ("HD 2", 1), ("06:00", 3), ("12:00", 3), ("18:00", 3), ("HD 3", 1)],
    ]
    around = [t.words for t in StayAxis(36.0, past=8760.0, future=24.0).ticks(ANCHOR)]
    assert around[:3] == ["1 y before", "1 mo before", "1 wk before"]
    assert around[-2:] == ["6 h after", "1 d after"]


def test_ticks_and_days_in_hours_are_at_round_hours_from_admission():
    axis = StayAxis(36.0, past=8760.0, future=24.0)
    ticks = [(t.words, t.rank) for t in axis.hour_ticks()]
    assert ticks[:4] == [("−1 y", 1), ("−30 d", 2), ("−7 d", 3), ("−3 d", 4)]
    assert ticks[6:-2] == [
        *[("0 h", 0), ("+6 h", 3), ("+12 h", 3), ("+18 h", 3), ("+24 h", 1), ("+30 h", 3)],
    ]
    # 6 h and 1 d after the discharge at +36 h.
    assert ticks[-2:] == [("+42 h", 4), ("+2 d 12 h", 2)]
    assert [t.position for t in axis.hour_ticks()][7] == axis.position(6.0)
    assert [(b.words, b.start, b.end) for b in axis.hour_days()] == [
        ("0 h", axis.position(0.0), axis.position(24.0)),
        ("+24 h", axis.position(24.0), axis.position(36.0)),
    ]


def test_a_long_stay_has_few_ticks_and_no_bands():
    axis = StayAxis(24.0 * 400)
    assert len(axis.ticks(ANCHOR)) <= 21
    assert len(axis.hour_ticks()) <= 21
    assert axis.days(ANCHOR) == axis.nights(ANCHOR) == axis.hour_days() == []


@given(st.lists(HOURS, max_size=8), st.none() | st.floats(0.0, 9e4))
def test_positions_never_decrease_and_stay_on_the_page(times, discharge):
    axis = StayAxis.covering(times, discharge)
    positions = [axis.position(h) for h in sorted(times)]
    assert all(a <= b for a, b in pairwise(positions))
    assert all(0.0 <= p <= 1.0 and math.isfinite(p) for p in positions)
    ticks = [t.position for t in axis.ticks(ANCHOR)]
    assert ticks == sorted(ticks)
    bands = axis.days(ANCHOR)
    assert all(a.end == pytest.approx(b.start) for a, b in pairwise(bands))
