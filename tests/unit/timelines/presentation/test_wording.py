"""The words for moments, bounds and shifts.

Clock times are worked out by hand from an admission at 14:38 on 24 February.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from timelines.domain import Anchor, Lane
from timelines.presentation import wording
from timelines.presentation.note_html import make_label

ANCHOR = Anchor(datetime(2131, 2, 24, 14, 38))


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
    assert wording.shift_words(before, after, cited=True) == said


def test_every_lane_has_words():
    assert set(wording.LANE_WORDS) == set(Lane)


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("HISTORY OF PRESENT ILLNESS", "History of present illness"),
        ("HPI", "HPI"),
        ("Follow up", "Follow up"),
    ],
)
def test_a_heading_in_capitals_is_calmed_in_the_margin(title, said):
    assert make_label(title) == said
