"""From a chunk to the span that is highlighted: without function words and far-off times at its ends."""

from __future__ import annotations

from timelines.backbones.rules.tagging.chunks import Chunk, Clause
from timelines.backbones.rules.tagging.vocabulary import LEADING, NEGATIONS, TRAILING


def trim(clause: Clause, chunk: Chunk) -> Chunk | None:
    """The chunk without leading and trailing words that say nothing; None when nothing is left."""
    first, last = chunk.first, chunk.last
    while first < last and _droppable(clause, first, LEADING):
        first += 1
    while last > first and _droppable(clause, last - 1, TRAILING, at_end=True):
        last -= 1
    first = _skip_time(clause, first, last)
    while first < last and _droppable(clause, first, LEADING):
        first += 1
    last = _drop_long_time(clause, first, last)
    return Chunk(first, last, chunk.separator) if first < last else None


def _droppable(clause: Clause, i: int, words: frozenset[str], at_end: bool = False) -> bool:
    token = clause.tokens[i]
    if token.lower in NEGATIONS or i in clause.term_at or (clause.in_time[i] and at_end):
        return False
    return token.lower in words or token.kind in {"other", "blank", "arrow"}


def _skip_time(clause: Clause, first: int, last: int) -> int:
    i = first
    while i < last and clause.in_time[i]:
        i += 1
    return i if i < last else first


def _drop_long_time(clause: Clause, first: int, last: int) -> int:
    """A trailing time stays unless it is longer than what it dates."""
    i = last
    while i > first and clause.in_time[i - 1]:
        i -= 1
    if i <= first or i == last:
        return last
    body = clause.tokens[i - 1].end - clause.tokens[first].start
    time = clause.tokens[last - 1].end - clause.tokens[i - 1].end
    if time <= max(1.2 * body, 0):
        return last
    return i
