"""Match the rows of two timelines of one case. No Django.

Rules in order (protocol section 3, "Matching"): equal UIDs; overlapping spans of the same note (IoU
at least 0.4); equal words; nearly equal words (normalised Levenshtein distance below 0.1). Each
pairs one-to-one, as evaluation does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timelines.domain import Lane
from timelines.evaluation.distances import levenshtein_distance
from timelines.evaluation.matching import match_events
from timelines.evaluation.spans import match_spans

#: Above this many pairs of rows, nearly equal words are not compared: a page must load at once.
MOST_NEAR_PAIRS = 40_000


class MatchReason(StrEnum):
    """Why two rows match."""

    UID = "identifier"
    SPAN = "span"
    WORDS = "words"
    NEAR = "similar words"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """One row of a timeline.

    `time`, `lower` and `upper` are hours from admission. `entry` identifies the row to the caller.
    """

    entry: int
    mention: str
    time: float | None
    uid: str | None = None
    start: int | None = None
    end: int | None = None
    lower: float | None = None
    upper: float | None = None
    lane: Lane = Lane.FINDING
    absent: bool = False


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """A row of either timeline or a pair; `how` is None if unmatched."""

    first: PlacedRow | None
    second: PlacedRow | None
    how: MatchReason | None = None

    @property
    def either(self) -> PlacedRow:
        found = self.first or self.second
        assert found is not None
        return found

    @property
    def times(self) -> list[float]:
        return [r.time for r in (self.first, self.second) if r is not None and r.time is not None]


def align_rows(
    first: Sequence[PlacedRow], second: Sequence[PlacedRow], *, shared_uids: bool
) -> list[AlignedRow]:
    """Return each row of both once, by its earlier time, untimed rows last.

    `shared_uids`: both timelines are of one inventory, so that a UID means the same in both.
    """
    pairs: list[tuple[int, int, MatchReason]] = []
    pairs += _match_uids(first, second) if shared_uids else []
    pairs += _new_pairs(first, second, pairs, _spans, MatchReason.SPAN)
    pairs += _new_pairs(first, second, pairs, _match_equal_words, MatchReason.WORDS)
    pairs += _new_pairs(first, second, pairs, _match_near_words, MatchReason.NEAR)
    ours, theirs = {a for a, _, _ in pairs}, {b for _, b, _ in pairs}
    rows = [AlignedRow(first[a], second[b], how) for a, b, how in pairs]
    rows += [AlignedRow(row, None) for n, row in enumerate(first) if n not in ours]
    rows += [AlignedRow(None, row) for n, row in enumerate(second) if n not in theirs]
    return sorted(rows, key=_compute_sort_key)


def _compute_sort_key(row: AlignedRow) -> tuple[bool, float, int, str]:
    start = row.either.start
    return (
        not row.times,
        min(row.times, default=0.0),
        -1 if start is None else start,
        row.either.mention,
    )


def _match_uids(
    first: Sequence[PlacedRow], second: Sequence[PlacedRow]
) -> list[tuple[int, int, MatchReason]]:
    places = {row.uid: n for n, row in enumerate(second) if row.uid is not None}
    return [
        (n, places[row.uid], MatchReason.UID) for n, row in enumerate(first) if row.uid in places
    ]


def _new_pairs(
    first: Sequence[PlacedRow],
    second: Sequence[PlacedRow],
    taken: Iterable[tuple[int, int, MatchReason]],
    match: Callable[[Sequence[PlacedRow], Sequence[PlacedRow]], list[tuple[int, int]]],
    how: MatchReason,
) -> list[tuple[int, int, MatchReason]]:
    """Return pairs among the rows that no earlier rule has matched."""
    used = list(taken)
    used_ours, used_theirs = {a for a, _, _ in used}, {b for _, b, _ in used}
    ours = [n for n in range(len(first)) if n not in used_ours]
    theirs = [n for n in range(len(second)) if n not in used_theirs]
    return [
        (ours[a], theirs[b], how)
        for a, b in match([first[n] for n in ours], [second[n] for n in theirs])
    ]


def _spans(first: Sequence[PlacedRow], second: Sequence[PlacedRow]) -> list[tuple[int, int]]:
    return [
        (a, b) for a, b, _ in match_spans([_span(r) for r in first], [_span(r) for r in second])
    ]


def _match_equal_words(
    first: Sequence[PlacedRow], second: Sequence[PlacedRow]
) -> list[tuple[int, int]]:
    """Pair rows with equal words; repeated words pair in row order."""
    waiting: dict[str, list[int]] = {}
    for n, row in enumerate(second):
        waiting.setdefault(_folded_words(row), []).append(n)
    return [
        (n, waiting[_folded_words(row)].pop(0))
        for n, row in enumerate(first)
        if waiting.get(_folded_words(row))
    ]


def _match_near_words(
    first: Sequence[PlacedRow], second: Sequence[PlacedRow]
) -> list[tuple[int, int]]:
    if len(first) * len(second) > MOST_NEAR_PAIRS:
        return []
    return match_events(
        levenshtein_distance([_folded_words(r) for r in first], [_folded_words(r) for r in second])
    )


def _span(row: PlacedRow) -> tuple[int, int] | None:
    return None if row.start is None or row.end is None else (row.start, row.end)


def _folded_words(row: PlacedRow) -> str:
    return " ".join(row.mention.casefold().split())
