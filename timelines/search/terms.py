"""The terms of a search: words, quoted words, beginnings of words.

No Django here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

#: Pieces of words as sentences are marked: letters and digits.
TOKEN = re.compile(r"[^\W_]+")
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
MAX_TERMS = 12
MAX_TEXT = 200


class TermKind(StrEnum):
    """How a term is compared with a text."""

    WORD = "word"
    PHRASE = "phrase"
    PREFIX = "prefix"


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that a text must have; `tokens` are its pieces in lower case."""

    kind: TermKind
    text: str
    tokens: tuple[str, ...]


def parse_terms(text: str) -> tuple[Term, ...]:
    """Read what a person typed: `heparin "no chest pain" vanco*`.

    Words in quotes follow each other; a star ends the beginning of a word. At most `MAX_TERMS`
    terms of at most `MAX_TEXT` characters in all; signs alone are ignored.
    """
    found = []
    for quoted, word in _TERM.findall(text[:MAX_TEXT]):
        kind = TermKind.PHRASE if quoted else TermKind.WORD
        raw = quoted or word
        if word.endswith("*"):
            kind, raw = TermKind.PREFIX, word.rstrip("*")
        tokens = tuple(token.lower() for token in TOKEN.findall(raw))
        if not tokens:
            continue
        if len(tokens) > 1:
            kind = TermKind.PHRASE
        elif kind is TermKind.PHRASE and raw.strip().lower() == tokens[0]:
            raw = tokens[0]
        found.append(Term(kind, raw.strip(), tokens))
    return tuple(dict.fromkeys(found))[:MAX_TERMS]
