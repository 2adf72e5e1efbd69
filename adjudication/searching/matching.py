"""Pair listed differences with a judge's findings. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from adjudication.domain import FindingType


class Kind(StrEnum):
    """What a difference is about, whichever side is which."""

    ONE_SIDED = "one-sided"
    TIMING = "TIMING"
    VALUE = "VALUE"
    DUPLICATE = "DUPLICATE"
    SHARED_UNSUPPORTED = "SHARED_UNSUPPORTED"

    @classmethod
    def of_finding(cls, kind: str) -> Kind:
        """Return the kind of a finding's type."""
        return cls.ONE_SIDED if FindingType(kind).one_sided else cls(kind)

    @property
    def rows(self) -> int:
        """The number of rows that it is about."""
        return 1 if self in (Kind.ONE_SIDED, Kind.DUPLICATE) else 2


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A row of one timeline, and its place in the note if it has one."""

    row: int
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference in the judge's labels; a side that it is not about is None."""

    kind: Kind
    a: RowPlace | None = None
    b: RowPlace | None = None


def match_differences(
    listed: Sequence[Difference], reported: Sequence[Difference]
) -> list[tuple[int, int]]:
    """Return pairs (listed, reported), each used once, as many as possible.

    A pair has the same kind and, on each side, the same row or rows at overlapping places. Among
    equally many pairs, those with most equal rows.
    """
    if not listed or not reported:
        return []
    from scipy.optimize import linear_sum_assignment  # here, because most callers never need it

    likeness = np.array([[_likeness(one, other) for other in reported] for one in listed])
    # One pair more outweighs any number of equal rows.
    more = 2 * 2 * min(likeness.shape) + 1
    weights = np.where(likeness > 0, likeness + more, 0)
    rows, columns = linear_sum_assignment(weights, maximize=True)
    return [(int(r), int(c)) for r, c in zip(rows, columns, strict=True) if likeness[r, c] > 0]


def _likeness(one: Difference, other: Difference) -> int:
    """Return 0 for different subjects, else 2 an equal row, 1 a place."""
    if one.kind is not other.kind:
        return 0
    found = 0
    for mine, theirs in ((one.a, other.a), (one.b, other.b)):
        if mine is None and theirs is None:
            continue
        if mine is None or theirs is None:
            return 0
        if not (same := _row_likeness(mine, theirs)):
            return 0
        found += same
    return found


def _row_likeness(one: RowPlace, other: RowPlace) -> int:
    if one.row == other.row:
        return 2
    if one.span is None or other.span is None:
        return 0
    return int(max(one.span[0], other.span[0]) < min(one.span[1], other.span[1]))
