"""Pair rows of two timelines for the same occurrence. No Django.

Rows match by identifier, by place in the note, or by words (protocol section 4, "match"). Swapping
the labels swaps the sides of the result and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adjudication.judging.input import CandidateRow
from adjudication.judging.rules.joining import is_stated_within, join_rows, read_statement
from adjudication.judging.rules.reading import CaseReading
from adjudication.judging.rules.words import (
    content_words,
    contradict,
    differ_in_denial,
    numbers,
    wording_distances,
)
from adjudication.judging.validation import Tolerance
from timelines.evaluation.matching import match_events

#: Least overlap (IoU) of two spans of the same occurrence, as in evaluation.
_OVERLAP = 0.4
#: Largest distance of wordings: with overlapping spans, with different places in the note, and with
#: an unknown place.
_SAME_PLACE, _OTHER_PLACE, _NO_PLACE = 0.75, 0.1, 0.35
#: Added to a pair's distance for contradicting numbers, and for times a week or more apart, so that
#: repeated events pair by value and time.
_OTHER_NUMBER, _OTHER_TIME, _FAR_HOURS = 0.1, 0.1, 168.0
_APART = 9.0


@dataclass(frozen=True, slots=True)
class Pairing:
    """The rows of a game, sorted.

    `pairs` are (A, B). `copies` are (row, the row of the same timeline it repeats). `alone` are
    rows that only one timeline has.
    """

    pairs: tuple[tuple[CandidateRow, CandidateRow], ...]
    copies: tuple[tuple[CandidateRow, CandidateRow], ...]
    alone: tuple[CandidateRow, ...]


def pair_rows(reading: CaseReading, tolerance: Tolerance) -> Pairing:
    """Sort every row of the game into pairs, copies and rows alone.

    Leaves out a row that the other side covers with its own rows.
    """
    given = reading.given
    pairs = _pair_by_uid(given.a_rows, given.b_rows)
    pairs += _equal_pairs(given.a_rows, given.b_rows, pairs, tolerance)
    copies: list[tuple[CandidateRow, CandidateRow]] = []
    a, b = (
        _unpaired_rows(given.a_rows, pairs, 0, copies, tolerance),
        _unpaired_rows(given.b_rows, pairs, 1, copies, tolerance),
    )
    pairs += _pair_by_distance(a, b, tolerance)
    a, b = (
        _unpaired_rows(given.a_rows, pairs, 0, copies, tolerance),
        _unpaired_rows(given.b_rows, pairs, 1, copies, tolerance),
    )
    statements = {r.row: read_statement(r, reading) for r in (*given.a_rows, *given.b_rows)}
    joined = join_rows([statements[r.row] for r in a], [statements[r.row] for r in b], tolerance)
    gone = {r.row for pair in joined for r in pair}
    partners = {
        one.row: statements[other.row]
        for pair in (*pairs, *joined)
        for one, other in (pair, pair[::-1])
    }
    alone = [
        r
        for left, others in ((a, given.b_rows), (b, given.a_rows))
        for r in left
        if r.row not in gone
        and not _is_covered(r, others, tolerance)
        and not is_stated_within(
            statements[r.row], [(statements[o.row], partners.get(o.row)) for o in others], tolerance
        )
    ]
    return Pairing((*pairs, *joined), tuple(copies), tuple(sorted(alone, key=lambda r: r.row)))


def contradict_values(one: CandidateRow, other: CandidateRow) -> bool:
    """Return whether the words of a pair contradict each other.

    They do if one denies the other or a number differs. Two inventories may word the same facts
    differently ("two boluses of 500", "1 litre"). Between them a number counts only if it is the
    only one that differs, the words are alike, and it does not say when.
    """
    linked = is_linked(one, other)
    if not linked and float(wording_distances([one.event], [other.event])[0, 0]) >= _NO_PLACE:
        return False
    if differ_in_denial(one.event, other.event):
        return True
    first, second = (numbers(r.event, also_times=linked) for r in (one, other))
    single = (first - second).total() == (second - first).total() == 1
    return contradict(first, second) and (linked or single)


def is_linked(one: CandidateRow, other: CandidateRow) -> bool:
    """Return whether two rows have the same UID at the same place."""
    return one.uid is not None and one.uid == other.uid and one.source.start == other.source.start


def _pair_by_uid(
    a: Sequence[CandidateRow], b: Sequence[CandidateRow]
) -> list[tuple[CandidateRow, CandidateRow]]:
    """Pair rows with the same UID at the same place in the note.

    Two inventories may have a UID in common by chance, so the place must match too.
    """
    theirs = {(r.uid, r.source.start): r for r in reversed(b) if r.uid is not None}
    pairs = []
    for row in a:
        if (
            row.uid is not None
            and (other := theirs.pop((row.uid, row.source.start), None)) is not None
        ):
            pairs.append((row, other))
    return pairs


def _equal_pairs(
    a: Sequence[CandidateRow],
    b: Sequence[CandidateRow],
    pairs: Sequence[tuple[CandidateRow, CandidateRow]],
    tolerance: Tolerance,
) -> list[tuple[CandidateRow, CandidateRow]]:
    """Pair unpaired rows with equal words, place and time, earliest first.

    An event that both timelines have twice is therefore repeated by neither.
    """
    gone = {r.row for pair in pairs for r in pair}
    theirs = [r for r in b if r.row not in gone]
    found = []
    for row in (r for r in a if r.row not in gone):
        other = next((o for o in theirs if _is_duplicate(row, o, tolerance)), None)
        if other is not None:
            theirs.remove(other)
            found.append((row, other))
    return found


def _unpaired_rows(
    rows: Sequence[CandidateRow],
    pairs: Sequence[tuple[CandidateRow, CandidateRow]],
    side: int,
    copies: list[tuple[CandidateRow, CandidateRow]],
    tolerance: Tolerance,
) -> list[CandidateRow]:
    """Return the unpaired rows; add those that repeat a pair to `copies`."""
    partners = [pair[side] for pair in pairs]
    gone = {r.row for r in partners} | {copy.row for copy, _ in copies}
    left = []
    for row in rows:
        if row.row in gone:
            continue
        pattern = next((t for t in partners if _is_duplicate(row, t, tolerance)), None)
        if pattern is None:
            left.append(row)
        else:
            copies.append((row, pattern))
    return left


def _is_duplicate(row: CandidateRow, partners: CandidateRow, tolerance: Tolerance) -> bool:
    """Return whether both have equal words, places and times."""
    return (
        row.event.casefold() == partners.event.casefold()
        and row.source.polarity is partners.source.polarity
        and (row.source.start, row.source.end) == (partners.source.start, partners.source.end)
        and tolerance.equal(row.time, partners.time)
    )


def _pair_by_distance(
    a: Sequence[CandidateRow], b: Sequence[CandidateRow], tolerance: Tolerance
) -> list[tuple[CandidateRow, CandidateRow]]:
    """Pair the closest first; ties go to the earlier row of either side."""
    if not a or not b:
        return []
    wording = wording_distances([r.event for r in a], [r.event for r in b])
    overlap = _overlaps(a, b)
    values = [[numbers(r.event, also_times=False) for r in rows] for rows in (a, b)]
    distance = np.full(wording.shape, _APART)
    for i, j in np.argwhere((overlap >= _OVERLAP) | (wording < _NO_PLACE)):
        one, other = a[i], b[j]
        near, other_number = (
            tolerance.equal(one.time, other.time),
            contradict(values[0][i], values[1][j]),
        )
        if wording[i, j] < _compute_distance_limit(float(overlap[i, j]), near and not other_number):
            gap = (
                _FAR_HOURS if one.time is None or other.time is None else abs(one.time - other.time)
            )
            added = _OTHER_NUMBER * other_number + (
                0.0 if near else _OTHER_TIME * min(1.0, gap / _FAR_HOURS)
            )
            distance[i, j] = wording[i, j] * (1 - max(0.0, float(overlap[i, j])) / 2) + added
    return [(a[i], b[j]) for i, j in match_events(np.round(distance, 9), 1.0)]


def _compute_distance_limit(overlap: float, agrees: bool) -> float:
    """Return the largest distance of wordings that a pair may have.

    `overlap` is negative if a row has no place in the note.
    """
    if overlap >= _OVERLAP:
        return _SAME_PLACE
    if overlap < 0:
        return _NO_PLACE if agrees else _NO_PLACE / 2
    return _OTHER_PLACE if agrees else 0.0


def _overlaps(a: Sequence[CandidateRow], b: Sequence[CandidateRow]) -> NDArray[np.float64]:
    """Return the spans' intersection over union, −1 if either row has none."""
    (a_start, a_end), (b_start, b_end) = (_spans(rows) for rows in (a, b))
    shared = np.minimum(a_end[:, None], b_end[None]) - np.maximum(a_start[:, None], b_start[None])
    union = np.maximum(a_end[:, None], b_end[None]) - np.minimum(a_start[:, None], b_start[None])
    iou = np.where((shared > 0) & (union > 0), shared / np.maximum(union, 1), 0.0)
    return np.where((a_start[:, None] < 0) | (b_start[None] < 0), -1.0, iou)


def _spans(rows: Sequence[CandidateRow]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    spans = [
        (
            (-1, -1)
            if r.source.start is None or r.source.end is None
            else (r.source.start, r.source.end)
        )
        for r in rows
    ]
    starts, ends = np.array(spans, dtype=np.int64).T
    return starts, ends


def _is_covered(row: CandidateRow, others: Sequence[CandidateRow], tolerance: Tolerance) -> bool:
    """Return whether the other side has the row within longer or shorter rows.

    They have all its words, at an equal time, at the same place in the note.
    """
    words = content_words(row.event)
    same = [
        o
        for o in others
        if o.source.polarity.denied == row.source.polarity.denied
        and tolerance.equal(row.time, o.time)
    ]
    if (
        any(words <= content_words(o.event) for o in same if _overlap(row, o) is not False)
        and words
    ):
        return True
    there = [content_words(o.event) for o in same if _overlap(row, o)]
    return bool(words) and words <= frozenset().union(*there)


def _overlap(one: CandidateRow, other: CandidateRow) -> bool | None:
    """Return whether the places overlap; None if either row has none."""
    a, b = one.source, other.source
    if a.start is None or a.end is None or b.start is None or b.end is None:
        return None
    return a.start < b.end and b.start < a.end
