"""The words of the note at a row, by one rule for every source. No Django.

A row is shown by the clause of the note around the middle of its span, at most `LONGEST` words of
it. Sources name and cut events in their own ways; the length of a phrase depends only on the note.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

Place = tuple[int, int]
#: Number of words of a phrase.
LONGEST = 8
#: A clause ends at these marks before white space, or at the end of a line.
_END = re.compile(r"[.;:,!?]+(?=\s|$)|\n+")
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"[^\W_]{2,}")
_BULLET = re.compile(r"[-#*•>=_+|]+|\d+[.)]")
_SMALL_WORDS = frozenset(
    (
        "an",
        "and",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "of",
        "on",
        "or",
        "the",
        "to",
        "was",
        "were",
        "with",
    )
)


def extract_words(event: str) -> frozenset[str]:
    """Return an event's words without case, plural endings and small words."""
    found = (word.casefold() for word in _WORD.findall(event))
    return frozenset(
        w[:-1] if len(w) > 3 and w.endswith("s") else w for w in found if w not in _SMALL_WORDS
    )


@dataclass(frozen=True)
class NoteWords:
    """A note and its clauses, each a list of the places of its words."""

    note: str

    @cached_property
    def clauses(self) -> list[list[Place]]:
        """The clauses with a word, in order."""
        ends = [m.end() for m in _END.finditer(self.note)] + [len(self.note)]
        starts = [0, *ends[:-1]]
        found = (self._read_clause(start, end) for start, end in zip(starts, ends, strict=True))
        return [clause for clause in found if clause]

    def phrase(self, *spans: Place) -> Place | None:
        """Return the place of the phrase around a span.

        Spans that overlap are one place: the phrase is around what they have in common. None
        outside the note's words.
        """
        start, end = max(s for s, _ in spans), min(e for _, e in spans)
        if not 0 <= start < end <= len(self.note) or not self.clauses:
            return None
        middle = (start + end - 1) // 2
        at = max(0, bisect_right(self.clauses, middle, key=lambda c: c[0][0]) - 1)
        return _cut(self.clauses[at], middle)

    def find(self, event: str) -> Place | None:
        """Return the place of the clause that shares most words with an event.

        The first of equally good ones, from its first shared word to its last. None if no clause
        shares a word.
        """
        shared: dict[int, int] = defaultdict(int)
        for word in extract_words(event):
            for clause in self._clauses_by_word.get(word, ()):
                shared[clause] += 1
        if not shared:
            return None
        best = min(shared, key=lambda clause: (-shared[clause], clause))
        wanted = extract_words(event)
        common = [p for p in self.clauses[best] if extract_words(self.note[slice(*p)]) & wanted]
        return common[0][0], common[-1][1]

    def read(self, place: Place) -> str:
        """Return the text of a phrase on one line."""
        return " ".join(self.note[slice(*place)].split())

    @cached_property
    def _clauses_by_word(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number, clause in enumerate(self.clauses):
            for word in extract_words(self.note[clause[0][0] : clause[-1][1]]):
                found[word].append(number)
        return found

    def _read_clause(self, start: int, end: int) -> list[Place]:
        """Return the places of its words, without marks at its ends."""
        tokens = [m.span() for m in _TOKEN.finditer(self.note, start, end)]
        while tokens and _BULLET.fullmatch(self.note[slice(*tokens[0])]):
            del tokens[0]
        if tokens:
            first, last = tokens[-1]
            kept = self.note[first:last].rstrip(".;:,!?")
            tokens[-1:] = [(first, first + len(kept))] if kept else []
        return tokens


def _cut(clause: Sequence[Place], middle: int) -> Place:
    """Return at most `LONGEST` words of the clause, around a code point."""
    at = max(0, bisect_right(clause, middle, key=lambda p: p[0]) - 1)
    first = max(0, min(at - LONGEST // 2, len(clause) - LONGEST))
    last = min(len(clause), first + LONGEST) - 1
    return clause[first][0], clause[last][1]
