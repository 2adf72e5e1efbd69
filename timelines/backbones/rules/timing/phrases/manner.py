"""Find how a note writes times.

Its habits decide what a number without a word means. "12/4", "2130" and "8:22" are a date, a clock
time and an evening in one note, and a murmur, a dose and a morning in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from timelines.backbones.rules.timing.phrases.quantities import has_unit
from timelines.backbones.rules.timing.phrases.terms import Day

#: Clock times without a colon that cannot be amounts.
_PLAIN_CLOCK = re.compile(
    r"(?:\b(?:at|by|from|until|around|before|after)\s+|@\s*|~\s*)(?:[01]\d|2[0-3])[0-5]\d(?![\w/%:.-])|"
    r"(?<![\w/.,:#+-])0\d[0-5]\d(?![\w/%:-]|[.,]\d)",
    re.IGNORECASE,
)
#: Clock times that only a 24-hour clock has.
_LATE_CLOCK = re.compile(r"(?<![\d:/.])(?:1[3-9]|2[0-3]|0\d):[0-5]\d(?![\d:])")
#: From this many plain clock times on, a note writes clock times without a colon.
_HABIT = 2


@dataclass(frozen=True, slots=True)
class Manner:
    """How a note writes dates, clock times and years.

    `is_date` accepts a date without a word before it, `is_dotted` one with points, `is_year` such a
    year; without them there are none. `plain_clocks`: "2130" may be a clock time. `full_day`: "8:22" is in the morning.
    """

    is_date: Callable[[Day], bool] | None = None
    is_dotted: Callable[[re.Match[str]], bool] | None = None
    is_year: Callable[[int], bool] | None = None
    plain_clocks: bool = False
    full_day: bool = True


def writes_plain_clocks(text: str) -> bool:
    """Return whether a note writes clock times without a colon."""
    written = [m for m in _PLAIN_CLOCK.finditer(text) if not has_unit(text, m.end())]
    return len(written) >= _HABIT


def writes_full_day(text: str) -> bool:
    """Return whether the clock times of a note count 24 hours."""
    return _LATE_CLOCK.search(text) is not None
