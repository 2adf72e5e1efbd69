"""Words for hours, clocks and events of the record.

Every page uses them, so that all say the same. No Django. Times are hours from admission; the minus
sign is U+2212; a day is 24 h and a year 8760 h.
"""

from __future__ import annotations

from datetime import datetime, timedelta

MINUS = "\u2212"
NOT_PLACED = "not placed"
#: By the value of `ehr.schema.TimeKind`, which this module does not import: pages need no Arrow.
TIME_KIND_WORDS: dict[str, str] = {
    "collection": "collection time",
    "result": "result time",
    "order": "order time",
    "administration": "administration time",
    "performed": "time performed",
    "charted": "charting time",
    "administrative": "administrative time",
    "unknown": "time of unknown kind",
}

_ACTS = {
    "start": "started",
    "stop": "stopped",
    "end": "ended",
    "in": "in",
    "out": "out",
    "billed": "billed",
}
_CATEGORIES = {"micro": "microbiology", "omr": "outpatient record"}

DAY = 24.0
YEAR = 8760.0
#: From these many hours on, the smaller unit is left out.
SAY_HOURS_BELOW = 48.0
_SAY_DAYS_AND_HOURS_BELOW = 14 * DAY
_SAY_DAYS_BELOW = YEAR
#: Before this, the day and month alone are ambiguous without the year.
SAY_DAY_AND_MONTH_FROM = -14 * DAY


def hours_words(hours: float | None) -> str:
    """A time: "+6.5 h", "−3 d 4 h", "−30 d", "−10 y"; "not placed" for None."""
    if hours is None:
        return NOT_PLACED
    amount = span_words(hours)
    if amount in ("0 h", "0 min"):
        return "0 h"
    return f"{MINUS if hours < 0 else '+'}{amount}"


def span_words(hours: float) -> str:
    """Return a length in words, without sign.

    Minutes below an hour, then hours, days with hours, days, years.
    """
    size = abs(hours)
    if 0 < size < 0.995:
        minutes = round(size * 60)
        return f"{minutes} min" if minutes < 60 else "1 h"
    if round(size, 1) < SAY_HOURS_BELOW:
        return f"{_decimal(size)} h"
    if round(size) < _SAY_DAYS_AND_HOURS_BELOW:
        days, rest = divmod(round(size), int(DAY))
        return f"{days} d {rest} h" if rest else f"{days} d"
    if round(size / DAY) * DAY < _SAY_DAYS_BELOW:
        return f"{round(size / DAY)} d"
    return f"{_decimal(size / YEAR)} y"


def duration_words(seconds: float) -> str:
    """How long work took: "0.4 s", "42 s", "2 min 5 s", "1 h 5 min"."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def clock_words(admitted: datetime, when: datetime) -> str:
    """Return a clock time in words.

    "HD 1 · 21:08" from admission on (day 1 is the admission's date); before it "21 Feb, 10:38", long
    before it "2128-02-21 10:38".
    """
    minute = _to_the_minute(when)
    if when >= admitted:
        return f"HD {(minute.date() - admitted.date()).days + 1} · {minute:%H:%M}"
    if (when - admitted).total_seconds() / 3600 >= SAY_DAY_AND_MONTH_FROM:
        return f"{minute.day} {minute:%b}, {minute:%H:%M}"
    return f"{minute:%Y-%m-%d %H:%M}"


def event_words(event: str) -> str:
    """Return an event name of the record as a phrase.

    `med:andexanet alfa:start` → "med andexanet alfa started".
    """
    category, _, rest = event.partition(":")
    return f"{category_words(category)} {name_words(event)}" if rest else event


def name_words(event: str) -> str:
    """Return the phrase without its category: "andexanet alfa started".

    It is for tables that have a column for the category.
    """
    category, _, rest = event.partition(":")
    name, _, detail = rest.rpartition(":") if ":" in rest else (rest, "", "")
    detail = detail.strip()
    if detail in _ACTS:
        return f"{name} {_ACTS[detail]}".strip()
    return (f"{name} ({detail})" if detail else name).strip() or category


def category_words(category: str) -> str:
    """Return the first part of an event name in words.

    Abbreviations that clinicians do not use are written out.
    """
    return _CATEGORIES.get(category, category)


def value_words(value: str, unit: str) -> str:
    """Return a value with its unit, if there is one."""
    return f"{value} {unit}".strip() if value else ""


def time_kind_words(kind: str) -> str:
    """The time kind as a reader says it; an unrecognised one is said as it is."""
    return TIME_KIND_WORDS.get(kind, kind)


def _to_the_minute(when: datetime) -> datetime:
    return (
        (when + timedelta(seconds=30)).replace(second=0, microsecond=0)
        if when.year < 9999
        else when
    )


def _decimal(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
