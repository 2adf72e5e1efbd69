"""Compare a row's value with the values that an occurrence states.

Rounding, decades, limits and unit conversions are considered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STATED = re.compile(
    r"(?P<sign>[<>≥≤]\s*)?(?<![\w.])(?P<number>\d{1,3}(?:,\d{3})+|"
    r"\d+)(?P<fraction>\.\d+)?(?P<decade>'?s\b)?(?![\d.,]*\d)(?!(?:st|nd|rd|th)\b)"
)
_WORDS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
#: Number words count as values only before a unit; "two hours" and "one of" do not.
_NUMBER_WORDS = re.compile(
    rf"\b({'|'.join(_WORDS)})(?=[\s-](?:more )?(?:liters?|litres?|L|mg|mcg|grams?|mL|units?"
    rf" per|liter|out of))|(?<=rated )({'|'.join(_WORDS)})\b",
    re.IGNORECASE,
)
#: "strength 3/5", "pain 7/10": the scale is not a value.
_OUT_OF = re.compile(r"(?<![\d/.])(\d|10) ?(?:/|out of) ?(?:5|10|five|ten)(?![\d/])")
_WORD_LIMIT = re.compile(
    r"\b(?P<above>over|above|greater than|more than|at least)|(?P<below>under|below|less than)\s*$",
    re.IGNORECASE,
)
_MINUS = re.compile(r"(?:^|[\s(])(?:[-−]|minus |negative )$", re.IGNORECASE)
_LOW = re.compile(r"\blow\s*$", re.IGNORECASE)
_HIGH = re.compile(r"\bhigh\s*$", re.IGNORECASE)
_MID = re.compile(r"\bmid[- ]?\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stated:
    """A closed range of values that are written this way.

    ``4.2`` covers 4.15…4.25, ``80s`` 80…89.9, ``>150`` 150 and more.
    """

    low: float
    high: float
    exact: float | None

    def covers(self, value: float) -> bool:
        return self.low - 1e-9 <= value <= self.high + 1e-9


def stated_values(text: str) -> tuple[Stated, ...]:
    """Every value that a text states, in order."""
    found = []
    text = _OUT_OF.sub(
        r"\g<1>", _NUMBER_WORDS.sub(lambda m: str(_WORDS.index(m[0].lower()) + 1), text)
    )
    for match in _STATED.finditer(text):
        before = text[max(0, match.start() - 14) : match.start()]
        found.append(_range(match, before))
    return tuple(found)


def find_equal(values: tuple[Stated, ...], value: float, unit: str, event: str) -> Stated | None:
    """Return the stated value that equals the row's value.

    The row's value may be converted between the units in which both are written.
    """
    for candidate in (value, *_convert(value, unit, event)):
        for stated in values:
            if stated.covers(candidate):
                return stated
    return None


def _range(match: re.Match[str], before: str) -> Stated:
    fraction = match["fraction"] or ""
    value = float(match["number"].replace(",", "") + fraction)
    if _MINUS.search(before):
        value = -value
    sign = (match["sign"] or "").strip()
    limit = _WORD_LIMIT.search(before)
    if sign in (">", "≥") or (limit and limit["above"]):
        return Stated(value, float("inf"), None)
    if sign in ("<", "≤") or (limit and limit["below"]):
        return Stated(float("-inf"), value, None)
    if match["decade"] and not fraction:
        return _decade(value, before)
    half = 0.5 * 10 ** -(len(fraction) - 1) if fraction else 0.5
    return Stated(value - half, value + half, value)


def _decade(value: float, before: str) -> Stated:
    width = 10.0 if value < 1000 else 100.0
    if _LOW.search(before):
        return Stated(value, value + 0.39 * width, None)
    if _MID.search(before):
        return Stated(value + 0.3 * width, value + 0.69 * width, None)
    if _HIGH.search(before):
        return Stated(value + 0.6 * width, value + 0.99 * width, None)
    return Stated(value, value + 0.99 * width, None)


def _convert(value: float, unit: str, event: str) -> tuple[float, ...]:
    """Convert °F ↔ °C, kg ↔ lb, g ↔ mg ↔ mcg, percent to a fraction."""
    if "o2 fraction" in event or "fio2" in event:
        return (value / 100,) if value > 1 else (value * 100,)
    if "temp" in event:
        fahrenheit = "f" in unit.lower() or (not unit and value > 60)
        return ((value - 32) / 1.8,) if fahrenheit else (value * 1.8 + 32,)
    if "weight" in event:
        pounds = "lb" in unit.lower() or "lbs" in event
        return (value / 2.2046,) if pounds else (value * 2.2046,)
    if event.startswith(("med:", "order:")):
        return (value * 1000, value / 1000)
    return ()
