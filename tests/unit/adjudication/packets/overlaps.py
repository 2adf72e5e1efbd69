"""The overlap of two whole judgings, for tests."""

from __future__ import annotations

from collections.abc import Iterable

from adjudication.reports.league.overlapping import OverlapCounter
from adjudication.reports.league.values import FindingRow, Overlap


def count_overlaps(
    first: Iterable[FindingRow], second: Iterable[FindingRow]
) -> tuple[Overlap, ...]:
    """Compare two whole judgings."""
    counter = OverlapCounter()
    counter.add(first, second)
    return counter.rows()
