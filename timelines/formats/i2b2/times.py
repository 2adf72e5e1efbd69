"""The times of events in an i2b2-2012 file, by its own layers.

Nothing is inferred beyond them. A date in TIMEX3 (`val`, types DATE and TIME) or SECTIME (`dvalue`)
is a period: a year, month, day, hour, minute or second. A TLINK between an event and such a period
says

* OVERLAP, SIMULTANEOUS, DURING: the event's time is the middle of the period, its bounds the
  period's ends;
* BEGUN_BY: the same (an event is placed at its beginning);
* BEFORE: no later than the period's beginning; AFTER: no earlier than its end;
* BEFORE_OVERLAP, ENDED_BY: begun no later than the period's end.

Section times are coarser (the day of admission, the day of discharge): BEFORE means no later than
that day's end, AFTER no earlier than its beginning, OVERLAP that day if no TIMEX3 places the event.
Periods of several links are intersected; if they contradict one another the event has no time.
Links between two events or two times are not followed. Durations and frequencies place nothing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from timelines.domain import Anchor
from timelines.formats.i2b2.xml import Layers, Tag
from timelines.formats.values import Unreadable

_VALUE = re.compile(
    r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2})(?::(\d{2})(?::(\d{2})(?:\.\d+)?)?)?)?)?)?"
)
AT = frozenset({"OVERLAP", "SIMULTANEOUS", "DURING", "BEGUN_BY"})
_INVERSE = {
    "BEFORE": "AFTER",
    "AFTER": "BEFORE",
    "BEGUN_BY": "",
    "ENDED_BY": "",
    "BEFORE_OVERLAP": "",
    "DURING": "",
}


@dataclass(frozen=True)
class Period:
    """Hours from the anchor, both ends included.

    `section` for a section time, `exact` if nothing says approximately.
    """

    begin: float
    end: float
    section: bool = False
    exact: bool = True


@dataclass(frozen=True)
class Placed:
    """The times that the layers give one event; all None: nothing."""

    time: float | None = None
    lower: float | None = None
    upper: float | None = None
    known: bool = False
    reason: str = ""


def parse_period(value: str, anchor: Anchor) -> tuple[float, float] | None:
    """Return the ends of an ISO 8601 calendar value in hours.

    Hours count from the anchor. None for anything else (durations, weeks, parts of days).
    """
    found = _VALUE.fullmatch(value.strip())
    if not found:
        return None
    year, month, day, hour, minute, second = (int(g) if g else None for g in found.groups())
    try:
        begin = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0)
        if month is None:
            end = datetime(begin.year + 1, 1, 1)
        elif day is None:
            end = datetime(begin.year + begin.month // 12, begin.month % 12 + 1, 1)
        elif hour is None:
            end = begin + timedelta(days=1)
        elif minute is None:
            end = begin + timedelta(hours=1)
        else:
            end = begin
    except (ValueError, OverflowError):
        return None
    return anchor.hours(begin), anchor.hours(end)


def find_periods(layers: Layers, anchor: Anchor) -> dict[str, Period]:
    """Tag id → period of every dated TIMEX3 and SECTIME."""
    found = {}
    for tag in layers.find("TIMEX3"):
        ends = (
            parse_period(tag.attributes.get("val", ""), anchor)
            if tag.attributes.get("type", "").upper() in ("DATE", "TIME")
            else None
        )
        if ends:
            found[tag.attributes.get("id", "")] = Period(
                *ends, exact=tag.attributes.get("mod", "NA").upper() in ("NA", "")
            )
    for tag in layers.find("SECTIME"):
        if ends := parse_period(tag.attributes.get("dvalue", ""), anchor):
            found[tag.attributes.get("id", "")] = Period(*ends, section=True)
    return found


def check_admission(layers: Layers, anchor: Anchor) -> None:
    """Check that the file's admission is on the case's day.

    Otherwise all its times would be wrong. Raises Unreadable.
    """
    for tag in layers.find("SECTIME"):
        ends = parse_period(tag.attributes.get("dvalue", ""), anchor)
        if (
            tag.attributes.get("type", "").upper() == "ADMISSION"
            and ends
            and not ends[0] <= 0 <= ends[1]
        ):
            days = round(abs(ends[0] if ends[0] > 0 else ends[1]) / 24, 1)
            raise Unreadable(
                "SECTIME.dvalue",
                f"the file's admission is {days:g} days from the case's; the dates are of another"
                " shift",
                tag.line,
            )


def place_events(layers: Layers, anchor: Anchor) -> dict[str, Placed]:
    """Return the times that the links give, by EVENT id.

    Events without a link to a dated period are missing.
    """
    periods = find_periods(layers, anchor)
    events = {tag.attributes.get("id", "") for tag in layers.find("EVENT")}
    links: dict[str, list[tuple[str, Period, str]]] = {}
    for tag in layers.find("TLINK"):
        start, end, kind = _ends(tag)
        if start in events and end in periods:
            links.setdefault(start, []).append((kind, periods[end], end))
        elif end in events and start in periods and (inverse := _INVERSE.get(kind, kind)):
            links.setdefault(end, []).append((inverse, periods[start], start))
    return {event: _place_event(found) for event, found in links.items()}


def _ends(tag: Tag) -> tuple[str, str, str]:
    return (
        tag.attributes.get("fromID", ""),
        tag.attributes.get("toID", ""),
        tag.attributes.get("type", "").upper(),
    )


def _place_event(links: list[tuple[str, Period, str]]) -> Placed:
    inside = [(p, name) for kind, p, name in links if kind in AT and not p.section]
    inside = inside or [(p, name) for kind, p, name in links if kind in AT]
    lower = max(
        [p.begin for p, _ in inside] + [_after(p) for kind, p, _ in links if kind == "AFTER"],
        default=-math.inf,
    )
    upper = min(
        [p.end for p, _ in inside]
        + [u for kind, p, _ in links if (u := _before(kind, p)) is not None],
        default=math.inf,
    )
    if lower > upper:
        return Placed(reason="the links of this event contradict one another")
    ends = None if lower == -math.inf else lower, None if upper == math.inf else upper
    if not inside:
        return (
            Placed(None, *ends, reason="bounded by its links")
            if any(e is not None for e in ends)
            else Placed()
        )
    exact = all(p.exact and not p.section for p, _ in inside)
    return Placed(
        (lower + upper) / 2,
        lower,
        upper,
        exact,
        f"linked to {', '.join(name for _, name in inside)}",
    )


def _before(kind: str, period: Period) -> float | None:
    if kind == "BEFORE":
        return period.end if period.section else period.begin
    return period.end if kind in ("BEFORE_OVERLAP", "ENDED_BY") else None


def _after(period: Period) -> float:
    return period.begin if period.section else period.end
