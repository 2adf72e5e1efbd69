"""Read and write phrases of a window: hours, values and references."""

from __future__ import annotations

import math
import re

from cohorts.engine.relations import Between, Interval, Within

_HOURS = {"min": 1 / 60, "h": 1.0, "d": 24.0}
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_LIMIT = rf"(?:(over|under) )?({_NUMBER}) ?(min|h|d)|(any)"
_WITHIN = re.compile(rf"(?:{_LIMIT}) to (?:{_LIMIT}) (after|before) ([\w-]+)")
_BETWEEN = re.compile(r"([\w-]+) and ([\w-]+)")
_COMPARED = re.compile(rf"(>=|<=|>|<|=) ?({_NUMBER})")
_RANGE = re.compile(rf"(over )?({_NUMBER}) to (under )?({_NUMBER})")

WITHIN_FORM = 'write for example "0 h to 6 h after anchor" or "any to under 2 d before discharge"'
VALUE_FORM = 'write for example "> 5.5", "<= 3", "= 0" or "5 to 7"'
PAIR_FORM = 'write two names, for example "anchor and discharge"'


def read_within(text: str) -> Within:
    """Read "over 0 h to 6 h after anchor"; raises ValueError."""
    found = _WITHIN.fullmatch(" ".join(text.split()))
    if found is None:
        raise ValueError(WITHIN_FORM)
    parts = found.groups()
    low, low_open = _read_limit(parts[0:4], "over", -math.inf)
    high, high_open = _read_limit(parts[4:8], "under", math.inf)
    return Within(Interval(low, high, low_open, high_open), parts[9], parts[8] == "before")


def _read_limit(parts: tuple[str | None, ...], opener: str, unlimited: float) -> tuple[float, bool]:
    word, number, unit, limitless = parts
    if limitless or number is None or unit is None:
        return unlimited, False
    if word not in (None, opener):
        raise ValueError(WITHIN_FORM)
    return _finite(number) * _HOURS[unit], word is not None


def write_within(within: Within) -> str:
    """Write what `read_within` reads."""
    hours = within.hours
    low = _write_limit(hours.low, "over " if hours.low_open else "")
    high = _write_limit(hours.high, "under " if hours.high_open else "")
    return f"{low} to {high} {'before' if within.before else 'after'} {within.reference}"


def _write_limit(hours: float, opener: str) -> str:
    return "any" if math.isinf(hours) else f"{opener}{write_number(hours)} h"


def read_pair(text: str, *, during: bool) -> Between:
    """Read "anchor and reversal"; raises ValueError."""
    found = _BETWEEN.fullmatch(" ".join(text.split()))
    if found is None:
        raise ValueError(PAIR_FORM)
    return Between(found[1], found[2], during)


def read_value(text: str) -> Interval:
    """Read "> 5.5", "5 to 7" or "over 5 to under 7"; raises ValueError."""
    text = " ".join(text.split())
    if found := _RANGE.fullmatch(text):
        low, high = _finite(found[2]), _finite(found[4])
        return Interval(low, high, found[1] is not None, found[3] is not None)
    found = _COMPARED.fullmatch(text)
    if found is None:
        raise ValueError(VALUE_FORM)
    sign, number = found[1], _finite(found[2])
    if sign == "=":
        return Interval(number, number)
    if sign in (">", ">="):
        return Interval(low=number, low_open=sign == ">")
    return Interval(high=number, high_open=sign == "<")


def write_value(value: Interval) -> str:
    """Write what `read_value` reads."""
    if value.low == value.high:
        return f"= {write_number(value.low)}"
    if math.isinf(value.high):
        return f"{'>' if value.low_open else '>='} {write_number(value.low)}"
    if math.isinf(value.low):
        return f"{'<' if value.high_open else '<='} {write_number(value.high)}"
    low = f"{'over ' if value.low_open else ''}{write_number(value.low)}"
    return f"{low} to {'under ' if value.high_open else ''}{write_number(value.high)}"


def write_number(number: float) -> str:
    """Write a number such that reading returns the same, in few digits."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("use a smaller number")
    return number
