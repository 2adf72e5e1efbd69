"""The words of an event as the rules judge compares them. No Django.

Content words, numbers, and the distance of two wordings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from timelines.evaluation.distances import cosine_distance

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:\.\d+)?")
_NUMBER = re.compile(r"(?<![\w#.])\d+(?:\.\d+)?(?!\w*(?:st|nd|rd|th)\b)")
#: Numbers that give a time, not an amount: ordinals of days, and durations.
_DAY_BEFORE = re.compile(r"\b(?:pod|hd|days?|#)\s*$|\d:$", re.IGNORECASE)
_TIME_AFTER = re.compile(
    r"\s*-?\s*(?:more\s+)?(?:h|hr|hours?|min|minutes?|days?|weeks?|months?|years?(?!\W*old)|am|pm)\b|:\d",
    re.IGNORECASE,
)
_EMPTY_WORD = re.compile(
    r"(?:an?|and|are|as|at|be|been|by|for|from|ha[dsv]e?|in|into|is|it|its|of|off|on|or|per|so|than|that|the|their|then|there|these|this|"
    r"to|was|were|which|while|who|with|without|no|not|none|denie[sd]|after|before|during|since|until|he|his|her|him|she|patient|pt)"
)
_DENIAL = re.compile(
    r"\b(?:no|not|never|none|denie[sd]|denying|without|absence of|free of|negative)\b",
    re.IGNORECASE,
)
#: A clock time in four digits: "at 1415", "by 2200", "0800".
_CLOCK_BEFORE, _CLOCK = (
    re.compile(r"(?:\b(?:at|by|for|from|until|till|to|around|pronounced)\s+|~\s*)$", re.IGNORECASE),
    re.compile(r"[0-2]\d[0-5]\d"),
)
_SIZE = 3


def content_words(text: str) -> frozenset[str]:
    """Return lower-case words without inflectional endings, and numbers.

    Leaves out articles, prepositions and negations.
    """
    words = (w for w in _WORD.findall(text.casefold()) if not _EMPTY_WORD.fullmatch(w))
    return frozenset(_stem(w) for w in words)


def numbers(text: str, *, also_times: bool) -> Counter[float]:
    """Return the numbers of an event; those of its time only if `also_times`."""
    found = []
    for match in _NUMBER.finditer(text):
        of_time = (
            _DAY_BEFORE.search(text[: match.start()])
            or _TIME_AFTER.match(text[match.end() :])
            or _is_clock(match, text)
        )
        if also_times or not of_time:
            found.append(float(match[0]))
    return Counter(found)


def differ_in_denial(first: str, second: str) -> bool:
    """Return whether one denies its event and the other has no word of denial."""
    return any(
        denies(a) and _DENIAL.search(b) is None for a, b in ((first, second), (second, first))
    )


def denies(text: str) -> bool:
    """Return whether an event as a whole is denied: "no fever".

    A negative result of something done is not a denial.
    """
    return _DENIAL.match(text.lstrip()) is not None


def contradict(first: Counter[float], second: Counter[float]) -> bool:
    """Return whether each has a number that the other lacks.

    A number in only one of them is a detail.
    """
    return bool(first - second) and bool(second - first)


def wording_distances(first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
    """Return 1 − cosine of letter triple counts, ignoring numbers.

    Shape (len(first), len(second)), values 0…1.
    """
    counts = [_triples(text) for text in (*first, *second)]
    vocabulary = {t: i for i, t in enumerate(sorted({t for c in counts for t in c}))}
    vectors = np.zeros((len(counts), len(vocabulary)))
    for i, count in enumerate(counts):
        for triple, n in count.items():
            vectors[i, vocabulary[triple]] = n
    return cosine_distance(vectors[: len(first)], vectors[len(first) :])


def _is_clock(match: re.Match[str], text: str) -> bool:
    if _CLOCK.fullmatch(match[0]) is None:
        return False
    return match[0][0] == "0" or _CLOCK_BEFORE.search(text[: match.start()]) is not None


def _triples(text: str) -> Counter[str]:
    words = " ".join(w if not w[0].isdigit() else "#" for w in _WORD.findall(text.casefold()))
    padded = f"  {words} "
    return Counter(padded[i : i + _SIZE] for i in range(len(padded) - _SIZE + 1))


def _stem(word: str) -> str:
    """Reduce a word to its stem, a number to its value.

    "transfusions", "transfusion" and "transfused" get the same stem.
    """
    if word[0].isdigit():
        return f"{float(word):g}"
    for ending in (
        "ations",
        "ation",
        "ions",
        "ion",
        "ings",
        "ing",
        "ies",
        "ed",
        "es",
        "s",
        "y",
        "e",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
