"""The largest change without a cited row, by hand."""

from __future__ import annotations

import pytest

from timelines.domain import Entry, Timeline, TimelineKind
from timelines.pipeline.changes import Change, find_largest_unexplained


def timeline(kind: TimelineKind, **times: tuple[float | None, tuple[int, ...]]) -> Timeline:
    entries = (Entry(uid, time, adopted_rows=rows) for uid, (time, rows) in times.items())
    return Timeline(tuple(entries), kind)


def text(**times: float | None) -> Timeline:
    return timeline(TimelineKind.TEXT_ONLY, **{uid: (time, ()) for uid, time in times.items()})


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        # Inside tolerance: less than 3 h, or less than a tenth of the distance from admission.
        ({"aaaa": (2.9, ()), "bbbb": (-8000.0, ())}, None),
        # 36 h are ten tolerances of 3.6 h; 18 days a year before are half a tolerance.
        ({"aaaa": (36.0, ()), "bbbb": (-8760.0 - 438.0, ())}, Change("aaaa", 36.0, 10.0)),
        # A cited row explains the change, however large.
        ({"aaaa": (36.0, (7,)), "bbbb": (-17520.0, ())}, Change("bbbb", 8760.0, 5.0)),
        # No time on one side is no change.
        ({"aaaa": (None, ()), "bbbb": (-8760.0, ()), "cccc": (500.0, ())}, None),
    ],
)
def test_the_largest_unexplained_change(moved, expected):
    before = text(aaaa=0.0, bbbb=-8760.0, cccc=None)
    found = find_largest_unexplained(before, timeline(TimelineKind.REVISED, **moved))
    assert found == expected


def test_of_equal_changes_the_first_in_the_note_is_returned():
    revised = timeline(TimelineKind.REVISED, aaaa=(6.0, ()), bbbb=(-6.0, ()))
    found = find_largest_unexplained(text(aaaa=0.0, bbbb=0.0), revised)
    assert found is not None
    assert (found.uid, found.hours, found.weight) == ("aaaa", 6.0, 2.0)
