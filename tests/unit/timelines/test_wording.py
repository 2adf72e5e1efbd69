"""How hours, bounds, shifts and rows are said. Clock times are worked out by hand from an admission at 14:38 on 24 February."""

from __future__ import annotations

from datetime import datetime

import pytest

from timelines.domain import Anchor, Lane, TimeKind
from timelines.presentation import wording
from timelines.presentation.note_html import label_of

ANCHOR = Anchor(datetime(2131, 2, 24, 14, 38))


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (None, "not placed"),
        (0.0, "0 h"),
        (0.004, "0 h"),
        (0.5, "+30 min"),
        (-0.25, "−15 min"),
        (0.999, "+1 h"),
        (6.5, "+6.5 h"),
        (-24.0, "−24 h"),
        (47.94, "+47.9 h"),
        (47.96, "+2 d"),
        (-76.0, "−3 d 4 h"),
        (168.0, "+7 d"),
        (335.6, "+14 d"),
        (-720.0, "−30 d"),
        (-8640.0, "−360 d"),
        (-8760.0, "−1 y"),
        (-13140.0, "−1.5 y"),
        (-17520.0, "−2 y"),
        (-87600.0, "−10 y"),
        (-306600.0, "−35 y"),
    ],
)
def test_hours_are_said_in_the_unit_a_person_would_use(hours, said):
    assert wording.hours_words(hours) == said


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (6.5, "+6.5 h (HD 1, 21:08)"),
        (0.0, "0 h (HD 1, 14:38)"),
        (10.0, "+10 h (HD 2, 00:38)"),
        (-76.0, "−3 d 4 h (21 Feb, 10:38)"),
        (-720.0, "−30 d"),
        (None, "not placed"),
        (1e9, "+114155.3 y"),
    ],
)
def test_the_clock_stands_beside_hours_where_it_means_something(hours, said):
    assert wording.moment_words(hours, ANCHOR) == said


@pytest.mark.parametrize(
    ("lower", "upper", "said"),
    [
        (-96.0, -48.0, "between −96 h and −48 h"),
        (0.0, 78.0, "between 0 h and +78 h"),
        (None, 0.0, "not after 0 h"),
        (-8760.0 * 3, None, "not before −3 y"),
        (3.0, 3.0, "at +3 h"),
        (None, None, ""),
    ],
)
def test_bounds_read_as_a_clause(lower, upper, said):
    assert wording.bounds_words(lower, upper) == said


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (1.5, 6.5, "5 h later"),
        (6.5, 6.0, "30 min earlier"),
        (2.0, 2.0, "unchanged"),
        (None, 6.5, "placed by evidence"),
        (6.5, None, "no longer placed"),
        (None, None, "not placed"),
    ],
)
def test_a_shift_says_its_direction(before, after, said):
    assert wording.shift_words(before, after) == said


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("med:andexanet alfa:start", "med andexanet alfa started"),
        ("order:vancomycin:stop", "order vancomycin stopped"),
        ("lab:lactate:blood", "lab lactate (blood)"),
        ("chart:heart rate:", "chart heart rate"),
        ("micro:blood culture:blood", "microbiology blood culture (blood)"),
        ("icu:medical icu:in", "icu medical icu in"),
        ("no category", "no category"),
        ("<b>:x", "<b> x"),
    ],
)
def test_an_event_name_reads_as_a_phrase(event, said):
    assert wording.event_words(event) == said


def test_a_value_carries_its_unit():
    assert wording.value_words("4.1", "mmol/L") == "4.1 mmol/L"
    assert wording.value_words("", "mmol/L") == ""


def test_every_lane_and_time_kind_has_words():
    assert set(wording.LANE_WORDS) == set(Lane)
    assert all(wording.time_kind_words(kind.value).endswith(("time", "kind", "performed")) for kind in TimeKind)
    assert wording.time_kind_words("something new") == "something new"


@pytest.mark.parametrize(
    ("title", "said"), [("HISTORY OF PRESENT ILLNESS", "History of present illness"), ("HPI", "HPI"), ("Follow up", "Follow up")]
)
def test_a_heading_in_capitals_is_calmed_in_the_margin(title, said):
    assert label_of(title) == said
