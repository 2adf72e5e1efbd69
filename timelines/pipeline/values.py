"""What rows say: a value that a mention states, and a moment."""

from __future__ import annotations

import re
from functools import lru_cache

#: A number that does not continue a word ("T2") or a decimal; a unit may follow at once ("38.5C",
#: "20mg"), an ordinal ending not.
_NUMBER = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d.,]*\d)(?!(?:st|nd|rd|th)\b)"
)
_WORD = re.compile(r"[a-z]+")
_MOMENTS = ("start", "end", "stop")


def split_moment(event: str) -> tuple[str, str]:
    """Return (the event without its moment, the moment).

    "med:heparin:start" → ("med:heparin", "start"); the moment is "" if the event names none.
    """
    stem, _, last = event.rpartition(":")
    return (stem, last) if last in _MOMENTS else (event, "")


# Rows of a record repeat few values, and a mention is read for each row.
@lru_cache(maxsize=100_000)
def find_numbers(text: str) -> frozenset[float]:
    """Return the separate numbers of a text.

    "BP 102/56" → 102, 56; "4.10" → 4.1; "1,200" → 1200; not the 2 of "T2".
    """
    return frozenset(float(n.replace(",", "")) for n in _NUMBER.findall(text))


def states_value(mention: str, value: str) -> bool:
    """Return whether the mention states the row's value.

    All of its numbers, or, for a value in words, all of its words.
    """
    numbers = find_numbers(value)
    if numbers:
        return numbers <= find_numbers(mention)
    words = set(_WORD.findall(value.lower()))
    return bool(words) and words <= set(_WORD.findall(mention.lower()))
