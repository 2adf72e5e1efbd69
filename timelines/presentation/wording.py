"""Words for moments, bounds and shifts of a timeline.

Note, plot, table and panel share them. No Django here. Words for hours, clocks and rows of the
record are in `ehr.presentation.wording`.
"""

from __future__ import annotations

from ehr.presentation import wording as record
from ehr.presentation.wording import (
    DAY,
    MINUS,
    NOT_PLACED,
    SAY_DAY_AND_MONTH_FROM,
    SAY_HOURS_BELOW,
    hours_words,
    span_words,
)
from timelines.domain import Anchor, CitedAs, Lane, NoRows

LANE_WORDS: dict[Lane, str] = {
    Lane.HISTORY: "History",
    Lane.FINDING: "Symptoms, findings",
    Lane.LAB: "Labs",
    Lane.MEDICATION: "Medications",
    Lane.PROCEDURE: "Procedures, lines",
    Lane.TRANSFER: "Transfers",
    Lane.PLAN: "Plans",
}


CITED_WORDS: dict[CitedAs | None, str] = {
    CitedAs.CITED: "cited by the model",
    CitedAs.CITED_ELSEWHERE: "cited by the model, found for another occurrence",
    CitedAs.INFERRED: "inferred link: same hour",
    CitedAs.MATCHED: "matched by a rule",
    None: "used",
}


NO_ROWS_WORDS: dict[NoRows, str] = {
    NoRows.NONE_FOUND: "The search found no series with a row that has a time.",
    NoRows.BELOW_THRESHOLD: "Every series that was found is below the relevance threshold.",
    NoRows.OVER_BUDGET: "Rows were found, but the budget for printed rows was spent.",
}


def moment_words(hours: float | None, anchor: Anchor) -> str:
    """Return a time with its clock: "+6.5 h (HD 1, 21:08)".

    "−3 d 4 h (21 Feb, 10:38)" before admission; far in the past there is no clock.
    """
    said = hours_words(hours)
    clock = clock_words(hours, anchor)
    return f"{said} ({clock})" if clock else said


def clock_words(hours: float | None, anchor: Anchor) -> str:
    """Return the clock of a time; "" far from admission.

    Hospital day and time from admission on (day 1 is the admission's date), date and time before.
    """
    if hours is None or hours < SAY_DAY_AND_MONTH_FROM:
        return ""
    when = anchor.clock(hours)
    return record.clock_words(anchor.at, when) if when else ""


def bounds_words(lower: float | None, upper: float | None) -> str:
    """Return bounds in words; "" without any.

    "between −96 h and −48 h", "not before …", "not after …", or "exactly …" if they are equal.
    """
    if lower is None and upper is None:
        return ""
    if lower is None:
        return f"not after {_bound(upper)}"
    if upper is None:
        return f"not before {_bound(lower)}"
    if _bound(lower) == _bound(upper):
        return f"at {_bound(lower)}"
    return f"between {_bound(lower)} and {_bound(upper)}"


def shift_words(before: float | None, after: float | None, *, cited: bool) -> str:
    """Return the change by revision: "5 h later", "unchanged".

    Also "30 min earlier" and "no longer placed". What the text did not place is "placed by
    evidence" only if a row is `cited`.
    """
    if before is None and after is None:
        return NOT_PLACED
    if before is None:
        return "placed by evidence" if cited else "placed on revision"
    if after is None:
        return "no longer placed"
    if abs(after - before) * 60 < 0.5:
        return "unchanged"
    return f"{span_words(after - before)} {'later' if after > before else 'earlier'}"


def _bound(hours: float | None) -> str:
    """Format a bound; up to ten days it is in hours.

    So "between −96 h and −48 h" compares at a glance.
    """
    if hours is not None and SAY_HOURS_BELOW <= abs(hours) < 10 * DAY:
        return f"{MINUS if hours < 0 else '+'}{round(abs(hours))} h"
    return hours_words(hours)
