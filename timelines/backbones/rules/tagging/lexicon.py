"""The clinical vocabulary: term lists and word endings.

The lists in `lexicon/*.txt` come from general clinical language and are matched longest first. Word
endings (-itis, -ectomy, -pril, …) match terms that no list contains. Terms and tokens are compared
in lower case, except terms of two to four capitals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from timelines.backbones.rules.tagging.tokens import Token, tokenize


class Concept(StrEnum):
    """The kind of a term. The value is the name of its word list."""

    LAB = "labs"
    VITAL = "vitals"
    DRUG = "drugs"
    FLUID = "fluids"
    PROCEDURE = "procedures"
    IMAGING = "imaging"
    DEVICE = "devices"
    MICRO = "micro"
    FINDING = "findings"
    PLACE = "places"


#: If two lists contain a term, the earlier list wins.
_ORDER = (
    Concept.LAB,
    Concept.VITAL,
    Concept.MICRO,
    Concept.DRUG,
    Concept.FLUID,
    Concept.DEVICE,
    Concept.IMAGING,
    Concept.PROCEDURE,
    Concept.PLACE,
    Concept.FINDING,
)
_FOLDER = Path(__file__).with_name("lexicon")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9/]{1,3}")
#: One- and two-letter terms that are ordinary words in lower case.
_ORDINARY = frozenset(
    {
        "or",
        "us",
        "er",
        "ed",
        "as",
        "co",
        "ps",
        "mb",
        "no",
        "ha",
        "le",
        "pet",
        "map",
        "cast",
        "fall",
        "gap",
        "port",
        "fast",
    }
)

_ENDINGS: tuple[tuple[Concept, re.Pattern[str]], ...] = (
    (
        Concept.PROCEDURE,
        re.compile(
            r"\w{3,}(?:ectomy|ostomy|otomy|plasty|oscopy|centesis|pexy|rrhaphy|desis|embolization|catheterization|graphy)(?:s|ies)?"
        ),
    ),
    (
        Concept.DRUG,
        re.compile(
            r"\w{3,}(?:olol|pril|sartan|statin|mycin|micin|cillin|cycline|conazole|prazole|floxacin|dipine|zepam|zolam|triptan|parin|xaban|gatran|"
            r"umab|ximab|zumab|tinib|ciclib|vir|tidine|setron|curonium|gliptin|gliflozin|glutide|zosin|penem|fungin|thiazide|semide|caine|barbital|"
            r"azepine|oxetine|idone|peridol|terol|tropium|lukast|platin|taxel|rubicin|dronate|profen|sone|solone|nitrate|cef\w+)"
            r"|cef[a-z]{4,}"
        ),
    ),
    (
        Concept.FINDING,
        re.compile(
            r"\w{2,}(?:itis|emia|aemia|uria|osis|pathy|megaly|plegia|paresis|algia|dynia|oma|omas|pnea|rrhea|rrhage|penia|cytosis|phagia|phasia|"
            r"ectasis|thorax|spasm|ptysis|edema|stenosis|trophy|icteric|emic|itic|otic|pathic)"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Term:
    """A term in a token sequence: tokens `[first, last)` name a `concept`."""

    first: int
    last: int
    concept: Concept


@dataclass
class _Index:
    any_case: dict[tuple[str, ...], Concept] = field(default_factory=dict)
    capitals: dict[tuple[str, ...], Concept] = field(default_factory=dict)
    longest: int = 1


def find_terms(tokens: Sequence[Token]) -> list[Term]:
    """Terms in order, longest match first from the left, never overlapping."""
    index = _index()
    terms = []
    i = 0
    while i < len(tokens):
        hit = _find_longest(tokens, i, index) or _find_by_ending(tokens, i)
        if hit:
            terms.append(hit)
        i = hit.last if hit else i + 1
    return terms


def _find_longest(tokens: Sequence[Token], i: int, index: _Index) -> Term | None:
    for size in range(min(index.longest, len(tokens) - i), 0, -1):
        window = tokens[i : i + size]
        exact = tuple(t.text for t in window)
        concept = index.capitals.get(exact) or index.any_case.get(tuple(t.lower for t in window))
        if concept and (size > 1 or _plausible(tokens, i)):
            return Term(i, i + size, concept)
    return None


def _plausible(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a word may be a term.

    A very short or ordinary word is one only in capitals, or before a number.
    """
    token = tokens[i]
    if _is_unit(tokens, i):
        return False
    if len(token.text) > 2 and token.lower not in _ORDINARY:
        return True
    if len(token.text) == 1 or (token.text.islower() and token.lower not in _ORDINARY):
        following = tokens[i + 1 : i + 3]
        return token.text[0].isupper() or (bool(following) and any(t.is_number for t in following))
    return token.text.isupper() or (token.lower not in _ORDINARY and not token.text.islower())


def _is_unit(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a short word only measures the number before it.

    Examples: "4 mg at 2", "82 K/uL".
    """
    if i == 0 or not (tokens[i - 1].is_number or tokens[i - 1].text == "/"):
        return False
    following = tokens[i + 1].text if i + 1 < len(tokens) else ""
    return len(tokens[i].text) <= 2 and (tokens[i].text.islower() or following == "/")


def _find_by_ending(tokens: Sequence[Token], i: int) -> Term | None:
    word = tokens[i].lower
    if len(word) > 5 and word.isalpha():
        for concept, pattern in _ENDINGS:
            if pattern.fullmatch(word):
                return Term(i, i + 1, concept)
    return None


@lru_cache(maxsize=1)
def _index() -> _Index:
    index = _Index()
    for concept in _ORDER:
        for term in word_list(concept.value):
            words = tokenize(term)
            key = tuple(t.text for t in words)
            index.longest = max(index.longest, len(key))
            if _CAPITALS.fullmatch(term):
                index.capitals.setdefault(key, concept)
            else:
                index.any_case.setdefault(tuple(t.lower for t in words), concept)
    return index


def word_list(name: str) -> list[str]:
    """Terms of `lexicon/<name>.txt`; lines that start with # are comments."""
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [
        term.strip()
        for line in lines
        if not line.startswith("#")
        for term in line.split(",")
        if term.strip()
    ]
