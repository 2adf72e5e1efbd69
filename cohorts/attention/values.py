"""Why a person should look at an occurrence or a stay, and how much each reason counts.

No Django here.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """One reason to look; a place is ranked by the sum of its reasons' weights."""

    #: Corrections of one occurrence differ and nobody has settled them.
    DISPUTED = "disputed"
    #: A stay is an uncertain member of a window.
    UNCERTAIN = "uncertain"
    #: Whether a stay is a member differs between the two sources of a window.
    CHANGED = "changed"
    #: The judge charges the study timeline, and no reviewer has decided.
    FINDING = "finding"
    #: The record moved a time by a day or more.
    MOVED = "moved"
    #: The bounds of a time in the stay are two days or more apart.
    WIDE = "wide"

    @property
    def weight(self) -> int:
        return WEIGHTS[self]

    @property
    def label(self) -> str:
        return LABELS[self]


WEIGHTS = {
    Reason.DISPUTED: 4,
    Reason.UNCERTAIN: 3,
    Reason.CHANGED: 3,
    Reason.FINDING: 2,
    Reason.MOVED: 1,
    Reason.WIDE: 1,
}
LABELS = {
    Reason.DISPUTED: "Corrections differ",
    Reason.UNCERTAIN: "Uncertain member of a window",
    Reason.CHANGED: "Membership depends on the record",
    Reason.FINDING: "Finding of the judge without a decision",
    Reason.MOVED: "Moved a day or more by the record",
    Reason.WIDE: "Bounds two days or more apart",
}
#: Hours from which a move and the distance of bounds are reasons.
LEAST_MOVE = 24.0
LEAST_WIDTH = 48.0
#: A move or width counts up to twice: one weight more at this many hours.
FULL_HOURS = 168.0


def score(reasons: dict[Reason, float | None]) -> float:
    """Return the rank of a place: its reasons' weights, more for more hours.

    The value of a reason is the hours of a move or width, None for the others.
    """
    return sum(
        reason.weight * (1 + min(hours or 0.0, FULL_HOURS) / FULL_HOURS)
        for reason, hours in reasons.items()
    )
