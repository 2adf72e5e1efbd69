"""The change from the text to the record that most needs a person.

No Django. Times in hours from admission.
"""

from __future__ import annotations

from dataclasses import dataclass

from timelines.domain import LEAST_TOLERANCE, TOLERANCE_SHARE, Timeline


@dataclass(frozen=True, slots=True)
class Change:
    """A time that moved: its occurrence, and by how much.

    `weight` counts tolerances (max(3 h, 10 %)), so that a year of a history of thirty years does
    not come before a day of the stay.
    """

    uid: str
    hours: float
    weight: float


def find_largest_unexplained(text: Timeline, revised: Timeline) -> Change | None:
    """Return the largest change that cites no row, or None.

    Changes within tolerance, and occurrences without a time on both sides, do not count. Of equal
    changes the first in the note is returned.
    """
    before = {entry.uid: entry.time for entry in text}
    found: Change | None = None
    for entry in revised:
        known = before.get(entry.uid)
        if entry.adopted_rows or entry.time is None or known is None:
            continue
        change = measure_change(entry.uid, known, entry.time)
        if change.weight >= 1 and (found is None or change.weight > found.weight):
            found = change
    return found


def measure_change(uid: str, before: float, after: float) -> Change:
    """Return how far a time moved, in hours and in tolerances."""
    hours = abs(after - before)
    tolerance = max(LEAST_TOLERANCE, TOLERANCE_SHARE * max(abs(before), abs(after)))
    return Change(uid, hours, hours / tolerance)
