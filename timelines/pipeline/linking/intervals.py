"""The hours in which an entry may be."""

from __future__ import annotations

import math

from timelines.domain import Entry, tolerance

Interval = tuple[float, float]


def find_interval(entry: Entry) -> Interval | None:
    """Return the earliest and the latest hour of an entry.

    An open bound is infinite. A time without bounds is as exact as two times that are the same.
    None for an entry without time and bounds.
    """
    if entry.lower is None and entry.upper is None:
        if entry.time is None:
            return None
        around = tolerance(entry.time, entry.time)
        return entry.time - around, entry.time + around
    return (
        -math.inf if entry.lower is None else entry.lower,
        math.inf if entry.upper is None else entry.upper,
    )


def find_width(entry: Entry) -> float:
    """Return the hours between the bounds; infinite without both."""
    if entry.lower is None or entry.upper is None:
        return math.inf
    return entry.upper - entry.lower


def overlap(first: Entry, second: Entry) -> bool:
    """Return whether two entries can be at the same moment."""
    one, other = find_interval(first), find_interval(second)
    return bool(one and other and one[0] <= other[1] and other[0] <= one[1])
