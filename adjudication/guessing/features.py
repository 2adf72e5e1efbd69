"""Features of a served item: one side minus the other. No Django.

What both sides have in common cancels, so only differences can give a source away. Words, word
forms, lengths, numbers and their order are features.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from adjudication.guessing.served import ServedItem, ServedSide

_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_DIGIT = re.compile(r"\d")


def describe_item(item: ServedItem) -> dict[str, float]:
    """Return the features by name; those that are 0 are left out."""
    one, other = describe_side(item.first), describe_side(item.second)
    found = {name: one.get(name, 0.0) - other.get(name, 0.0) for name in one.keys() | other.keys()}
    found |= _compare(item.first.numbers, item.second.numbers)
    return {name: value for name, value in sorted(found.items()) if value}


def describe_side(side: ServedSide) -> dict[str, float]:
    """Return the features of one side by name."""
    found: dict[str, float] = {}
    for place, texts in side.texts.items():
        found |= {f"{place}: {name}": value for name, value in _describe_texts(texts).items()}
    for place, numbers in side.numbers.items():
        found |= {f"{place}: {name}": value for name, value in _describe_numbers(numbers).items()}
    return found


def _describe_texts(texts: Sequence[str]) -> dict[str, float]:
    """Return shares of words, and what the texts look like."""
    if not texts:
        return {}
    words = Counter(word for text in texts for word in set(_split(text)))
    forms = {
        "texts": float(len(texts)),
        "length": fmean(len(text) for text in texts),
        "words": fmean(len(text.split()) for text in texts),
        "begins with a capital": fmean(text[:1].isupper() for text in texts),
        "digits": fmean(len(_DIGIT.findall(text)) for text in texts),
        "different texts": len(set(texts)) / len(texts),
    }
    return forms | {f"“{word}”": count / len(texts) for word, count in words.items()}


def _split(text: str) -> Iterable[str]:
    return (_DIGIT.sub("0", word) for word in _WORD.findall(text.casefold()))


def _describe_numbers(numbers: Sequence[float | None]) -> dict[str, float]:
    """Return how many there are, how many differ, and how round they are."""
    if not numbers:
        return {}
    known = [n for n in numbers if n is not None]
    found = {"numbers": float(len(numbers)), "missing": 1 - len(known) / len(numbers)}
    if known:
        found |= {
            "different numbers": len(set(known)) / len(known),
            "zero": fmean(n == 0 for n in known),
            "negative": fmean(n < 0 for n in known),
            "whole": fmean(n == round(n) for n in known),
            "sixth hours": fmean(n % 6 == 0 for n in known),
            "whole days": fmean(n % 24 == 0 for n in known),
        }
    return found


def _compare(
    first: Mapping[str, Sequence[float | None]], second: Mapping[str, Sequence[float | None]]
) -> dict[str, float]:
    """Return which side is later, for numbers that are beside each other."""
    found = {}
    for place in first.keys() & second.keys():
        pairs = [
            (a, b)
            for a, b in zip(first[place], second[place], strict=False)
            if a is not None and b is not None
        ]
        if pairs:
            found[f"{place}: later"] = fmean((a > b) - (a < b) for a, b in pairs)
    return found
