"""The status of a time, on both sides of every border; the tolerance is max(3 h, a tenth of the larger distance from admission)."""

from __future__ import annotations

import pytest

from timelines.presentation.status import Status, differs, status_of


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1.0, 3.99, False),
        (1.0, 4.0, True),
        (100.0, 109.9, False),
        (100.0, 112.0, True),
        (-1000.0, -1099.0, False),
        (-1000.0, -1112.0, True),
        (None, 5.0, True),
        (5.0, None, True),
        (None, None, False),
    ],
)
def test_times_differ_beyond_tolerance(first, second, expected):
    assert differs(first, second) is expected
    assert differs(second, first) is expected


def test_no_time_is_not_placed_whatever_else_is_known():
    assert status_of(None, known=True, adopted_rows=[3], text_time=1.0, revised=True) is Status.UNPLACED


def test_a_text_only_time_is_stated_or_inferred():
    assert status_of(4.0, known=True) is Status.EXPLICIT
    assert status_of(4.0, known=False) is Status.INFERRED


def test_a_time_whose_source_does_not_say_is_neither_stated_nor_inferred():
    assert status_of(4.0, known=None) is Status.UNSPECIFIED
    assert status_of(None, known=None) is Status.UNPLACED


def test_evidence_moved_a_revised_time_that_differs_or_rests_on_a_row():
    assert status_of(6.5, known=True, text_time=1.5, revised=True) is Status.MOVED
    assert status_of(1.5, known=True, text_time=1.5, adopted_rows=[7], revised=True) is Status.MOVED
    assert status_of(2.0, known=True, text_time=1.5, revised=True) is Status.EXPLICIT
    assert status_of(6.5, known=False, text_time=1.5, revised=False) is Status.INFERRED
    assert status_of(6.5, known=False, text_time=None, revised=True) is Status.MOVED


def test_every_status_has_words():
    words = {"stated in the note", "inferred from the note", "moved by evidence", "not placed", "basis not given"}
    assert {status.label for status in Status} == words
