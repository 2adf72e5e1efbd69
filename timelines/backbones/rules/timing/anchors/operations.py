"""Find the operation of the stay, from which other times count.

Postoperative days, "before surgery" and "the day of the operation" refer to it.
"""

from __future__ import annotations

import re

from timelines.backbones.rules.timing.anchors.clock import Calendar
from timelines.backbones.rules.timing.anchors.references import ReferenceIndex
from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.domain import Occurrence

_OPERATION = re.compile(
    r"\b(?:surgery|operation|operating room|taken to the or|to or|bypass graft\w*|cabg|craniotomy|"
    r"craniectomy|laparotomy|laparoscop\w+|thoracotomy|sternotomy|vats|arthroplasty|orif|"
    r"\w+ectomy|\w+plasty|fusion|resection|amputation|transplant\w*|valve replacement|avr|mvr|"
    r"tavr|aneurysm repair|evar|hernia repair|open"
    r" reduction|debridement|whipple|ex-?lap|c-?section|"
    r"cesarean)\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\b(?:before|prior to|after|since|until|following|for|stopped|without|no|planned|s/p|history|"
    r"years?|ago|outpatient|consult\w*|follow-?up|due"
    r" to|evaluation|eval|candidate\w*|consider\w*|referr\w*|seated|"
    r"deferred|declined|(?:day|night|evening|morning) of)\b",
    re.IGNORECASE,
)
_REFERS = re.compile(r"\b(?:surgery|operation|operative|the or|operating room)\b", re.IGNORECASE)
#: A time that itself counts from the operation ("POD 2") does not date it.
_COUNTED_FROM_IT = re.compile(r"\bPOD\b|post-?op|surgery|operation", re.IGNORECASE)
#: Clock hours of an operation whose hour is unknown, and their range.
_HOUR, _EARLY, _LATE = 9.0, 6.5, 18.0


def states_operation(clause: str) -> bool:
    """Return whether a clause reports that an operation was done.

    "laparotomy on HD2" does; a clause that only refers to an operation does not.
    """
    return _OPERATION.search(clause) is not None and _BESIDE.search(clause) is None


def refers_to_operation(phrase: str) -> bool:
    """Return whether the words mean the operation of this stay.

    Examples: "surgery", "the operation".
    """
    return _REFERS.search(phrase) is not None


def operation(index: ReferenceIndex, course: tuple[int, int]) -> tuple[Occurrence, Estimate] | None:
    """Return the operation of the stay, dated near or in it.

    The note mentions it before the end of `course` (offsets). One with a time of its own goes
    before one that only repeats or follows another, one in the course before one in a list or on
    the way in; of equals the first.
    """
    best: tuple[tuple[bool, bool], Occurrence, Estimate] | None = None
    for occurrence in index.note.inventory:
        estimate = index.estimates.get(occurrence.uid)
        if (
            occurrence.start is None
            or not 0 <= occurrence.start < course[1]
            or estimate is None
            or estimate.time is None
        ):
            continue
        if estimate.time < -48 or estimate.strength < Strength.INHERITED:
            continue
        if not _OPERATION.search(occurrence.mention) or _BESIDE.search(occurrence.mention):
            continue
        counted = _COUNTED_FROM_IT.search(estimate.reason) is not None
        rank = (
            estimate.strength >= Strength.RELATIVE and not counted,
            occurrence.start >= course[0],
        )
        if best is None or rank > best[0]:
            best = rank, occurrence, estimate
    return None if best is None else (best[1], best[2])


def assumed_operation(calendar: Calendar, day: int | None) -> Estimate:
    """Return an operation without a stated hour.

    It is in the morning of its day, else of the first morning in hospital.
    """
    if day is None:
        day = 0 if calendar.clock < _HOUR else 1
    start = calendar.midnight(day)
    return Estimate(
        start + _HOUR,
        start + _EARLY,
        start + _LATE,
        Strength.PLACE,
        "operation",
        "the operation",
        known=False,
    )
