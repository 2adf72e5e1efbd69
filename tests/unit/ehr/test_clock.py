"""One way to write a time.

Clock times are worked out by hand from an admission at 14:38 on 24 February, discharge four days
later at 12:38 (94 hours).
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.templatetags.components import when
from ehr.presentation.clock import Clock, Moment
from timelines.drafts.time_entry import read_time

ADMITTED = datetime(2131, 2, 24, 14, 38)
CLOCK = Clock(ADMITTED, 94.0)


@pytest.mark.parametrize(
    ("hours", "day", "beside"),
    [
        (6.5, "HD 1 · 21:08", "+6.5 h"),
        (0.0, "HD 1 · 14:38", "0 h"),
        (9.366, "HD 2 · 00:00", "+9.4 h"),
        (94.0, "HD 5 · 12:38", "+3 d 22 h"),
        (-0.5, "30 min before", "−30 min"),
        (-2.0, "2 h before", "−2 h"),
        (-2.25, "2.2 h before", "−2.2 h"),
        (-26.4, "26 h before", "−26.4 h"),
        (-76.0, "3 d before", "−3 d 4 h"),
        (-20 * 24.0, "20 d before", "−20 d"),
        (-720.0, "4 weeks before", "−30 d"),
        (-3650.0, "≈ 5 months before", "−152 d"),
        (-87600.0, "≈ 10 years before", "−10 y"),
        (100.0, "6 h after discharge", "+4 d 4 h"),
        (94.0 + 8 * 168, "8 weeks after discharge", "+60 d"),
        (None, "not placed", ""),
        (1e9, "≈ 114155 years after discharge", "+114155.3 y"),
    ],
)
def test_a_time_is_a_hospital_day_and_a_clock(hours: float, day: str, beside: str) -> None:
    found = CLOCK.read(hours)
    assert (found.day, found.hours) == (day, beside)


def test_without_a_discharge_days_go_on() -> None:
    assert Clock(ADMITTED).read(100.0).day == "HD 5 · 18:38"
    assert Clock(ADMITTED).read(1e9).day == "≈ 114155 years after admission"


@pytest.mark.parametrize(
    ("lower", "upper", "day", "hours"),
    [
        (0.0, 20.0, "HD 1 · 14:38 to HD 2 · 10:38", "0 h to +20 h"),
        (6.0, 7.0, "HD 1 · 20:38 to 21:38", "+6 h to +7 h"),
        (-96.0, -48.0, "4 d before to 2 d before", "−4 d to −2 d"),
        (None, 0.0, "not after HD 1 · 14:38", "not after 0 h"),
        (-8760.0 * 3, None, "not before ≈ 3 years before", "not before −3 y"),
        (3.0, 3.0, "at HD 1 · 17:38", "at +3 h"),
    ],
)
def test_bounds_read_as_a_clause(lower, upper, day, hours) -> None:
    assert CLOCK.bounds(lower, upper) == Moment(day, hours)
    assert CLOCK.bounds(None, None) is None


@pytest.mark.parametrize(
    ("hours", "beside", "said"),
    [
        (6.5, None, "HD 1 · 21:08"),
        (6.5, 1.0, "21:08"),
        (9.366, None, "HD 2 · 00:00"),
        (10.0, 1.0, "HD 2 · 00:38"),
        (-6.0, None, "6 h before admission (08:38)"),
        (-720.0, None, "4 weeks before admission"),
        (-87600.0, None, "10 years before admission"),
        (100.0, None, "6 h after discharge"),
    ],
)
def test_a_time_in_a_sentence(hours: float, beside: float | None, said: str) -> None:
    assert CLOCK.say(hours, beside) == said


def test_a_reader_of_hours_reads_hours() -> None:
    assert Clock(ADMITTED, 94.0, in_hours=True).say(6.5, 1.0) == "+6.5 h"


@pytest.mark.parametrize(
    ("hours", "said"),
    [(0, "HD 1 · 15 h"), (1, "HD 1 · 16 h"), (9, "HD 2 · 0 h"), (-3, "3 h before")],
)
def test_a_reviewer_sees_the_day_and_the_rounded_hour(hours: int, said: str) -> None:
    assert CLOCK.round_to_hour(hours) == said


def test_the_tag_escapes_and_names_the_exact_time() -> None:
    assert when(CLOCK.read(-6.0)) == (
        '<time class="at" datetime="2131-02-24T08:38" title="24 Feb, 08:38">'
        '<span class="at-day">6 h before</span> <span class="at-hours">−6 h</span></time>'
    )
    assert when(Moment("<b>")) == '<time class="at"><span class="at-day">&lt;b&gt;</span></time>'
    assert when(None) == ""


@given(st.floats(-8e5, 8e5))
def test_what_a_page_says_can_be_typed(hours: float) -> None:
    """The words are read back to their own precision."""
    words = CLOCK.read(hours).day
    read = read_time(words, ADMITTED, ADMITTED + timedelta(hours=94.0)).time
    outside = -hours if hours < 0 else max(hours - 94.0, 0.0)
    assert read == pytest.approx(hours, abs=max(outside * 0.26, 0.51 / 60))
