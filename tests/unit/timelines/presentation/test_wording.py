"""The words for shifts, lanes and headings."""

from __future__ import annotations

import pytest

from timelines.domain import Lane
from timelines.presentation import wording
from timelines.presentation.note_html import make_label


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
