"""Read a sentence by words; find contents and topics of its chunks."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

from timelines.backbones.rules.tagging.demographics import demographic_spans
from timelines.backbones.rules.tagging.lexicon import Concept, Term, find_terms
from timelines.backbones.rules.tagging.temporal import find_manner, time_spans
from timelines.backbones.rules.tagging.tokens import Token, tokenize
from timelines.backbones.rules.tagging.vocabulary import (
    ACTIONS,
    COMPANIONS,
    EMPTY,
    TREATMENT_ACTS,
    UNITS,
)
from timelines.backbones.rules.text import Analysis
from timelines.backbones.rules.timing.phrases.manner import Manner

NAMING = frozenset(set(Concept) - {Concept.PLACE})


@dataclass
class Clause:
    """A sentence with what is known about each token."""

    text: str
    tokens: list[Token]
    terms: list[Term]
    in_time: list[bool]
    parts: list[str]
    lemmas: list[str]
    subjects: frozenset[int] = frozenset()
    demographic: frozenset[int] = frozenset()
    term_at: dict[int, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.term_at = {i: term for term in self.terms for i in range(term.first, term.last)}


@dataclass
class Chunk:
    """Tokens `[first, last)` of a clause.

    `separator` is the mark or word before it.
    """

    first: int
    last: int
    separator: str = ""
    #: Index after the act that this chunk shares with the names coordinated to it; 0 for none.
    shared: int = 0
    #: Index after the name and its dose, if the act is shared.
    named: int = 0
    #: Whether the chunk is only a further time of the chunk before it.
    repeat: bool = False
    #: Whether the chunk only dates its neighbour.
    silent: bool = False


def read_clause(analysis: Analysis, start: int, end: int) -> Clause:
    """Return the clause `text[start:end]`.

    It has tokens, terms, temporal expressions and parts of speech.
    """
    tokens = tokenize(analysis.text, start, end)
    spans = time_spans(analysis.text, start, end, manner_of(analysis.text))
    starts = [s for s, _ in spans]
    in_time = []
    for token in tokens:
        i = bisect_right(starts, token.start) - 1
        in_time.append(i >= 0 and token.start < spans[i][1])
    parsed = {t.idx: t for t in analysis.tokens(start, end)}
    parts = [parsed[t.start].pos_ if t.start in parsed else "" for t in tokens]
    lemmas = [parsed[t.start].lemma_.lower() if t.start in parsed else t.lower for t in tokens]
    subjects = _subject_starts(analysis, start, end)
    opening = frozenset(i for i, t in enumerate(tokens) if t.start in subjects)
    terms = [t for t in find_terms(tokens) if not all(in_time[t.first : t.last])]
    people = demographic_spans(analysis.text, start, end)
    demographic = frozenset(
        i for i, t in enumerate(tokens) if any(a <= t.start < b for a, b in people)
    )
    return Clause(analysis.text, tokens, terms, in_time, parts, lemmas, opening, demographic)


@lru_cache(maxsize=16)
def manner_of(text: str) -> Manner:
    return find_manner(text)


def _subject_starts(analysis: Analysis, start: int, end: int) -> set[int]:
    """Return offsets at which the subject of a finite verb begins.

    There a new clause begins, even without a comma.
    """
    found = set()
    for token in analysis.tokens(start, end):
        if (
            token.dep_ in {"nsubj", "nsubjpass"}
            and token.head.pos_ in {"VERB", "AUX"}
            and token.head.i > token.i
        ):
            found.add(token.left_edge.idx)
    return found


def strength(clause: Clause, first: int, last: int) -> int:
    """Return how much content `[first, last)` has.

    2 for a clinical term or act, 1 for any other content, 0 for none (function words, times,
    places).
    """
    best = 0
    for i in range(first, last):
        if clause.in_time[i]:
            continue
        token = clause.tokens[i]
        term = clause.term_at.get(i)
        if (term and term.concept in NAMING) or (token.lower in ACTIONS and not term):
            return 2
        if term:
            continue
        content = (
            token.is_word
            and token.lower not in EMPTY
            and clause.lemmas[i] not in EMPTY
            and token.lower not in UNITS
        )
        if (
            content
            and (
                clause.parts[i] in {"NOUN", "VERB", "ADJ", "PROPN", "X", ""}
                or token.kind == "short"
            )
            and token.lower not in COMPANIONS
        ):
            best = 1
    return best


def has_value(clause: Clause, first: int, last: int) -> bool:
    """Return whether the chunk has a number outside temporal expressions."""
    return any(
        (clause.tokens[i].is_number or clause.tokens[i].kind == "mixed") and not clause.in_time[i]
        for i in range(first, last)
    )


def concepts(clause: Clause, first: int, last: int) -> set[Concept]:
    """Concepts of the terms that begin in `[first, last)`."""
    return {t.concept for t in clause.terms if first <= t.first < last}


def is_bare_value(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk is a value without a name.

    Examples: "4.1", "11.9 on HD#5", "72 by lunchtime".
    """
    return (
        has_value(clause, chunk.first, chunk.last)
        and not concepts(clause, chunk.first, chunk.last) & NAMING
        and strength(clause, chunk.first, chunk.last) <= 1
    )


def names_something(clause: Clause, chunk: Chunk) -> bool:
    """Return whether a noun of the chunk, term or not, names its subject."""
    span = range(chunk.first, chunk.last)
    if any(i in clause.term_at for i in span):
        return True
    quiet = EMPTY | UNITS | TREATMENT_ACTS
    return any(
        clause.parts[i] in {"NOUN", "PROPN"}
        and not clause.in_time[i]
        and clause.tokens[i].lower not in quiet
        for i in span
    )


def has_verb(clause: Clause, chunk: Chunk) -> bool:
    return any(
        clause.parts[i] == "VERB" and clause.lemmas[i] not in EMPTY
        for i in range(chunk.first, chunk.last)
    )
