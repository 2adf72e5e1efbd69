"""The status of an occurrence: how its time was obtained.

The page shows this one property by colour and line.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from timelines.domain import TimelineKind


class Status(StrEnum):
    EXPLICIT = "explicit"
    INFERRED = "inferred"
    MOVED = "moved"
    CORRECTED = "corrected"
    UNPLACED = "unplaced"
    UNSPECIFIED = "unspecified"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Status.EXPLICIT: "stated in the note",
    Status.INFERRED: "inferred from the note",
    Status.MOVED: "from the record",
    Status.CORRECTED: "corrected by a clinician",
    Status.UNPLACED: "not placed",
    Status.UNSPECIFIED: "basis not given",
}


def find_status(
    time: float | None,
    *,
    known: bool | None,
    kind: TimelineKind,
    cited_rows: Sequence[int],
    corrected: bool = False,
) -> Status:
    """Return the status of one entry of a timeline of that kind.

    Evidence moved a time only if the entry is of a revised timeline and cites a row (protocol
    section 2, stage 6). A time that shifted without a row still rests on the note. Others are
    compared with a reference: nothing moved its times, even if they cite rows. `known` None: an
    imported time whose file does not say whether the note states it. `corrected`: a person's answer
    replaced the entry, also if it says that there is no time.
    """
    if corrected:
        return Status.CORRECTED
    if time is None:
        return Status.UNPLACED
    if cited_rows and kind is TimelineKind.REVISED:
        return Status.MOVED
    if known is None:
        return Status.UNSPECIFIED
    return Status.EXPLICIT if known else Status.INFERRED
