"""How hours, bounds, shifts and rows are said on pages: one place, so that note, plot, table and panel say the same.

No Django here. Times are hours from admission; the minus sign is U+2212; a day is 24 h and a year 8760 h (protocol section 1).
"""

from __future__ import annotations

from datetime import timedelta

from timelines.domain import DAY, YEAR, Anchor, Lane, TimeKind

MINUS = "\u2212"
NOT_PLACED = "not placed"

LANE_WORDS: dict[Lane, str] = {
    Lane.HISTORY: "History",
    Lane.FINDING: "Symptoms, findings",
    Lane.LAB: "Labs",
    Lane.MEDICATION: "Medications",
    Lane.PROCEDURE: "Procedures, lines",
    Lane.TRANSFER: "Transfers",
    Lane.PLAN: "Plans",
}
TIME_KIND_WORDS: dict[TimeKind, str] = {
    TimeKind.COLLECTION: "collection time",
    TimeKind.RESULT: "result time",
    TimeKind.ORDER: "order time",
    TimeKind.ADMINISTRATION: "administration time",
    TimeKind.PERFORMED: "time performed",
    TimeKind.CHARTED: "charting time",
    TimeKind.ADMINISTRATIVE: "administrative time",
    TimeKind.UNKNOWN: "time of unknown kind",
}
_ACTS = {"start": "started", "stop": "stopped", "end": "ended", "in": "in", "out": "out", "billed": "billed"}
_CATEGORIES = {"micro": "microbiology", "omr": "outpatient record"}

#: Above these many hours a smaller unit is no longer said.
_SAY_HOURS_BELOW = 48.0
_SAY_DAYS_AND_HOURS_BELOW = 14 * DAY
_SAY_DAYS_BELOW = YEAR
_SAY_CLOCK_FROM = -14 * DAY


def hours_words(hours: float | None) -> str:
    """A time: "+6.5 h", "−3 d 4 h", "−30 d", "−10 y"; "not placed" for None."""
    if hours is None:
        return NOT_PLACED
    amount = span_words(hours)
    if amount in ("0 h", "0 min"):
        return "0 h"
    return f"{MINUS if hours < 0 else '+'}{amount}"


def span_words(hours: float) -> str:
    """A length without sign: minutes below an hour, then hours, days with hours, days, years."""
    size = abs(hours)
    if 0 < size < 0.995:
        minutes = round(size * 60)
        return f"{minutes} min" if minutes < 60 else "1 h"
    if round(size, 1) < _SAY_HOURS_BELOW:
        return f"{_decimal(size)} h"
    if round(size) < _SAY_DAYS_AND_HOURS_BELOW:
        days, rest = divmod(round(size), int(DAY))
        return f"{days} d {rest} h" if rest else f"{days} d"
    if round(size / DAY) * DAY < _SAY_DAYS_BELOW:
        return f"{round(size / DAY)} d"
    return f"{_decimal(size / YEAR)} y"


def moment_words(hours: float | None, anchor: Anchor) -> str:
    """A time with the clock beside it: "+6.5 h (HD 1, 21:08)", "−3 d 4 h (21 Feb, 10:38)"; far in the past the clock is left out."""
    said = hours_words(hours)
    clock = clock_words(hours, anchor)
    return f"{said} ({clock})" if clock else said


def clock_words(hours: float | None, anchor: Anchor) -> str:
    """The clock of a time: hospital day and time from admission on (day 1 is the admission's date), date and time before; "" far off."""
    when = None if hours is None or hours < _SAY_CLOCK_FROM else anchor.clock(hours)
    if hours is None or when is None:
        return ""
    when = (when + timedelta(seconds=30)).replace(second=0, microsecond=0)
    if hours < 0:
        return f"{when.day} {when:%b}, {when:%H:%M}"
    return f"HD {(when.date() - anchor.at.date()).days + 1}, {when:%H:%M}"


def bounds_words(lower: float | None, upper: float | None) -> str:
    """Bounds: "between −96 h and −48 h", "not before …", "not after …"; "" without any, "exactly …" where they meet."""
    if lower is None and upper is None:
        return ""
    if lower is None:
        return f"not after {_bound(upper)}"
    if upper is None:
        return f"not before {_bound(lower)}"
    if _bound(lower) == _bound(upper):
        return f"at {_bound(lower)}"
    return f"between {_bound(lower)} and {_bound(upper)}"


def shift_words(before: float | None, after: float | None) -> str:
    """What evidence changed: "5 h later", "30 min earlier", "placed by evidence", "no longer placed", "unchanged"."""
    if before is None and after is None:
        return NOT_PLACED
    if before is None:
        return "placed by evidence"
    if after is None:
        return "no longer placed"
    if abs(after - before) * 60 < 0.5:
        return "unchanged"
    return f"{span_words(after - before)} {'later' if after > before else 'earlier'}"


def event_words(event: str) -> str:
    """An event name of the record as a phrase: `med:andexanet alfa:start` → "med andexanet alfa started"."""
    category, _, rest = event.partition(":")
    if not rest:
        return event
    name, _, detail = rest.rpartition(":") if ":" in rest else (rest, "", "")
    detail = detail.strip()
    head = f"{_CATEGORIES.get(category, category)} {name}".strip()
    if detail in _ACTS:
        return f"{head} {_ACTS[detail]}"
    return f"{head} ({detail})" if detail else head


def value_words(value: str, unit: str) -> str:
    """A value with its unit, where there is one."""
    return f"{value} {unit}".strip() if value else ""


def time_kind_words(kind: str) -> str:
    """The time kind as a reader says it; an unrecognised one is said as it is."""
    return TIME_KIND_WORDS[TimeKind(kind)] if kind in TimeKind._value2member_map_ else kind


def _bound(hours: float | None) -> str:
    """Bounds up to ten days are said in hours, so that "between −96 h and −48 h" compares at a glance."""
    if hours is not None and _SAY_HOURS_BELOW <= abs(hours) < 10 * DAY:
        return f"{MINUS if hours < 0 else '+'}{round(abs(hours))} h"
    return hours_words(hours)


def _decimal(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
