"""From a chunk to the span that is highlighted: without function words and far-off times at its ends."""

from __future__ import annotations

from timelines.backbones.rules.tagging.chunks import Chunk, Clause
from timelines.backbones.rules.tagging.vocabulary import LEADING, NEGATIONS, TRAILING

#: Characters: a trailing time up to this length always stays; a span up to this length may be widened, at most so many times.
_SHORT_TIME = 24
_SHORT = 16
_WIDEN = 2.2
_FILLERS = frozenset(
    {"was", "were", "is", "are", "had", "has", "been", "it", "he", "she", "they", "his", "her", "its", "the", "to", "down", "up", "a", "an"}
)


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
    first = _widen_short(clause, chunk.first, first, last)
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
    return last if time <= max(1.2 * body, _SHORT_TIME) else i


def _widen_short(clause: Clause, floor: int, first: int, last: int) -> int:
    """A few letters ("24.3", "stopped") take the words before them back, as far as they fit: "early on POD 2 it was 24.3"."""
    if first >= last:
        return first
    body = clause.tokens[last - 1].end - clause.tokens[first].start
    limit = clause.tokens[last - 1].end - _WIDEN * body
    if body > _SHORT or not any(clause.tokens[i].is_number or clause.parts[i] in {"VERB", "AUX"} for i in range(first, last)):
        return first
    best = first
    for i in range(first - 1, floor - 1, -1):
        token = clause.tokens[i]
        if token.start < limit or not (clause.in_time[i] or token.lower in _FILLERS):
            break
        if not clause.in_time[i] or i == floor or not clause.in_time[i - 1]:
            best = i
    return best
