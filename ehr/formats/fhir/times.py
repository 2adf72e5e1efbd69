"""Read the times of FHIR: the clock time that the text names."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from ehr.formats.columns import DATE_ONLY
from ehr.formats.fhir.elements import Fault, Resource

TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:T(?P<clock>\d\d:\d\d(?::\d\d)?)(?P<part>\.\d+)?"
    r"(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)?)?",
    re.ASCII,
)
PARTIAL = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?", re.ASCII)
LONGEST_TIME = 60


class Moment(NamedTuple):
    """A time of the record; `day`: it names a day and no hour.

    `time` is None for a year or a month: neither is a time of a row.
    """

    time: datetime | None
    day: bool = False


NEVER = Moment(None)


def read_moment(resource: Resource, name: str) -> Moment:
    """Return the time of an element, NEVER if it is missing. Raises Fault."""
    text = resource.get(name)
    if text is None:
        return NEVER
    moment = _parse(text) if len(text) <= LONGEST_TIME else None
    if moment is None:
        raise Fault(name, "not a date and time of FHIR")
    return moment


@lru_cache(maxsize=1 << 16)
def _parse(text: str) -> Moment | None:
    """Return the local time that the text itself names.

    The offset is cut off: 08:30+02:00 is 08:30 where it was written.
    """
    found = TIME.fullmatch(text)
    if found is None:
        return Moment(None) if PARTIAL.fullmatch(text) and text[:4] != "0000" else None
    clock, part = found["clock"], found["part"] or ""
    try:
        time = datetime.fromisoformat(
            f"{found['day']}T{clock or '00:00'}{part[:7]:0<7}"
            if part
            else f"{found['day']}T{clock or '00:00'}"
        )
    except ValueError:
        return None
    return Moment(time, day=clock is None)


def read_period(resource: Resource, name: str) -> tuple[Moment, Moment]:
    """Return the start and end of a Period. Raises Fault."""
    period = resource.get(name)
    if period is None:
        return NEVER, NEVER
    try:
        start, end = read_moment(period, "start"), read_moment(period, "end")
    except Fault as fault:
        raise Fault(f"{name}.{fault.field}", fault.reason) from None
    if start.time and end.time and find_end(end) < start.time:
        raise Fault(f"{name}.end", "before the start")
    return start, end


def find_end(moment: Moment) -> datetime:
    """Return the time, or the last moment if it is a day."""
    assert moment.time is not None
    if not moment.day:
        return moment.time
    return moment.time.replace(hour=23, minute=59, second=59, microsecond=999_999)


def mark_day(unit: str, moment: Moment) -> str:
    """Return the unit, which says so if the time is only a day."""
    if not moment.day:
        return unit
    return f"{unit} ({DATE_ONLY})" if unit else DATE_ONLY
