"""Coverage and width of bounds as a page shows them.

No Django; nothing is computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from timelines.evaluation.tables import group_words
from timelines.evaluation.values import Basis, BoundsOf, BoundsResult, Report
from timelines.presentation.evaluation.tables import Figure, figure, is_primary, value_words


@dataclass(frozen=True)
class BoundsRow:
    """One group of occurrences of a source, or one tenth of its closed bounds.

    The `first` row of a source has the source's name over `span` rows.
    """

    source: str
    words: tuple[str, ...]
    occurrences: int
    figures: tuple[Figure, ...]
    first: bool
    span: int


def bounds_rows(report: Report, basis: Basis) -> list[BoundsRow]:
    """Return the rows of the table of groups."""
    return [
        BoundsRow(
            result.key.label,
            (group_words(group),),
            group.occurrences,
            (
                figure("share", group.coverage),
                figure("width", group.width),
                figure("share", group.open),
            ),
            first=group.of is BoundsOf.ALL,
            span=len(result.groups),
        )
        for result in _primary(report, basis)
        for group in result.groups
    ]


def width_rows(report: Report, basis: Basis) -> list[BoundsRow]:
    """Return the rows of the table of tenths by width."""
    return [
        BoundsRow(
            result.key.label,
            (value_words("width", group.narrowest), value_words("width", group.widest)),
            group.coverage.n,
            (figure("share", group.coverage),),
            first=number == 0,
            span=len(result.widths),
        )
        for result in _primary(report, basis)
        for number, group in enumerate(result.widths)
    ]


def _primary(report: Report, basis: Basis) -> list[BoundsResult]:
    """Return the results of the timelines of the main table."""
    return [r for r in report.bounds if r.basis is basis and is_primary(r.key)]
