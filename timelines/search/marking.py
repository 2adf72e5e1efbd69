"""Find and mark searched words in the sentences of a note.

No Django here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from timelines.presentation.sentence import find_sentence
from timelines.search.terms import TOKEN, Term, TermKind

#: Term → the forms of its word that count, in lower case.
Forms = Mapping[Term, Collection[str]]


@dataclass(frozen=True, slots=True)
class Match:
    """A place in a note and the number of its term.

    Offsets are code points, end-exclusive.
    """

    start: int
    end: int
    term: int


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence exactly as in the note: pieces of text, each marked or not."""

    start: int
    end: int
    pieces: tuple[tuple[str, bool], ...]
    terms: int
    cut_before: bool = False
    cut_after: bool = False


def list_words(note: str, terms: Sequence[Term]) -> set[str]:
    """Return words of the note that may be forms of a term's word.

    Forms of a word begin with the same letter.
    """
    letters = {term.tokens[0][0] for term in terms if term.kind is TermKind.WORD}
    words = (m.group().lower() for m in TOKEN.finditer(note)) if letters else ()
    return {word for word in words if word[0] in letters}


def find_matches(note: str, terms: Sequence[Term], forms: Forms) -> list[Match]:
    """Return all places of the terms, in order of the note."""
    tokens = [(m.start(), m.end(), m.group().lower()) for m in TOKEN.finditer(note)]
    words = [word for *_, word in tokens]
    found = []
    for number, term in enumerate(terms):
        for at, length in _places(words, term, forms):
            found.append(Match(tokens[at][0], tokens[at + length - 1][1], number))
    return sorted(found, key=lambda m: (m.start, -m.end, m.term))


def _places(words: Sequence[str], term: Term, forms: Forms) -> Iterator[tuple[int, int]]:
    first, length = term.tokens[0], len(term.tokens)
    if term.kind is TermKind.PREFIX:
        yield from ((at, 1) for at, word in enumerate(words) if word.startswith(first))
    elif length == 1:
        known = {first, *forms.get(term, ())}
        yield from ((at, 1) for at, word in enumerate(words) if word in known)
    else:
        for at, word in enumerate(words):
            if word == first and tuple(words[at : at + length]) == term.tokens:
                yield at, length


def mark_sentences(note: str, matches: Sequence[Match]) -> list[MarkedSentence]:
    """Return the sentences with these places.

    Those with most different terms come first.
    """
    found: list[MarkedSentence] = []
    at = 0
    while at < len(matches):
        first = matches[at]
        around = find_sentence(note, first.start, first.end)
        start, end = first.start - len(around.before), first.end + len(around.after)
        inside = [m for m in matches[at:] if m.start < end]
        end = max(end, *(m.end for m in inside))
        found.append(
            MarkedSentence(
                start,
                end,
                tuple(_cut(note, start, end, inside)),
                len({m.term for m in inside}),
                around.cut_before,
                around.cut_after,
            )
        )
        at += len(inside)
    return sorted(found, key=lambda s: (-s.terms, s.start))


def _cut(note: str, start: int, end: int, matches: Sequence[Match]) -> Iterator[tuple[str, bool]]:
    at = start
    for match in matches:
        if match.end <= at:
            continue
        if match.start > at:
            yield note[at : match.start], False
        yield note[max(at, match.start) : match.end], True
        at = match.end
    if at < end:
        yield note[at:end], False
