"""Write hours from admission as FHIR date-times.

The record has no time zone, and FHIR requires one for a clock time: the record's clock is written
as UTC.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from timelines.domain import DAY, MONTH, TOLERANCE_SHARE, YEAR, Anchor
from timelines.formats.lines import Line

#: Up to this distance before admission a time without bounds has a clock.
_CLOCK_FROM = -3 * DAY


def say_instant(when: datetime) -> str:
    """Return a clock time of the record to the second."""
    second = (
        (when + timedelta(microseconds=500_000)).replace(microsecond=0)
        if when.year < 9999
        else when.replace(microsecond=0)
    )
    return f"{second.replace(tzinfo=None).isoformat()}Z"


def say_point(line: Line, anchor: Anchor) -> str | None:
    """Return the time of a line; None if it is not placed.

    Year, month or day alone say that the time is known no better.
    """
    if line.time is None or (when := anchor.clock(line.time)) is None:
        return None
    width = _width(line, line.time)
    if width < DAY:
        return say_instant(when)
    if width < MONTH:
        return f"{when.year:04d}-{when:%m-%d}"
    return f"{when.year:04d}-{when:%m}" if width < YEAR else f"{when.year:04d}"


def say_period(line: Line, anchor: Anchor) -> dict[str, str] | None:
    """Return the bounds of a line; None without any."""
    edges = {"start": line.lower, "end": line.upper}
    clocks = {name: anchor.clock(at) for name, at in edges.items() if at is not None}
    return {name: say_instant(when) for name, when in clocks.items() if when} or None


def choose_time(
    line: Line, anchor: Anchor, name: str, *, imprecise: bool = False
) -> dict[str, Any]:
    """Return the element `name` of a resource: a point, else its bounds.

    `imprecise`: the element's period means that the event happened at some time in it, so an
    inferred time is written as its bounds. Empty if the line has neither.
    """
    point, period = say_point(line, anchor), say_period(line, anchor)
    if imprecise and not line.known and not line.rows and period and len(period) == 2:
        point = None
    if point:
        return {f"{name}DateTime": point}
    return {f"{name}Period": period} if period else {}


def _width(line: Line, hours: float) -> float:
    if line.lower is not None and line.upper is not None:
        return line.upper - line.lower
    return 0.0 if hours >= _CLOCK_FROM else TOLERANCE_SHARE * abs(hours)
