"""Literal value match: does a mention state the value of a row?"""

from __future__ import annotations

import re
from functools import lru_cache

#: A number that does not continue a word ("T2") or a decimal; a unit may follow at once ("38.5C",
#: "20mg"), an ordinal ending not.
_NUMBER = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d.,]*\d)(?!(?:st|nd|rd|th)\b)"
)
_WORD = re.compile(r"[a-z]+")


@lru_cache(
    maxsize=100_000
)  # rows of a record repeat few values, and mentions are read for each row
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
