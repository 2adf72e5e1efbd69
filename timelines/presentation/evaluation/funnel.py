"""The evidence funnel as a page shows it.

Each share and count carries the query of the list of its occurrences. No Django; nothing is
computed anew but shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from timelines.domain import Lane
from timelines.evaluation.values import FunnelResult, Lost, Report, Step
from timelines.presentation.wording import LANE_WORDS


@dataclass(frozen=True, slots=True)
class FunnelCell:
    """A share or a count.

    `query` leads to its occurrences; it is empty if there are none.
    """

    words: str
    count: int
    query: str


@dataclass(frozen=True)
class FunnelRow:
    """One kind of event of one source.

    The `first` row of a source has the source's name over `span` rows.
    """

    source: str
    kind: str
    occurrences: FunnelCell
    steps: tuple[FunnelCell, ...]
    lost: tuple[FunnelCell, ...]
    first: bool
    span: int


def kind_words(kind: str) -> str:
    """Return a kind of event in words; empty means every kind."""
    if not kind:
        return "All kinds"
    return LANE_WORDS[Lane(kind)] if kind in set(Lane) else kind.capitalize()


def funnel_rows(report: Report) -> list[FunnelRow]:
    """Return the rows of the table: for each source all kinds, then each."""
    numbers = {key: n for n, key in enumerate(report.keys)}
    sizes: dict[object, int] = {}
    for result in report.funnel:
        sizes[result.key] = sizes.get(result.key, 0) + 1
    return [
        _row(result, numbers[result.key], sizes[result.key])
        for result in report.funnel
        if result.key in numbers
    ]


def _row(result: FunnelResult, number: int, span: int) -> FunnelRow:
    chosen = {"s": number, "kind": result.kind}
    total = result.occurrences

    def cell(count: int, words: str, **more: str) -> FunnelCell:
        return FunnelCell(words, count, _query(chosen, more) if count else "")

    return FunnelRow(
        result.key.label,
        kind_words(result.kind),
        cell(total, str(total)),
        tuple(
            cell(result.reached[step], f"{result.reached[step] / total:.3f}", step=step)
            for step in Step
        ),
        tuple(cell(result.lost[why], str(result.lost[why]), lost=why) for why in Lost),
        first=not result.kind,
        span=span,
    )


def _query(chosen: Mapping[str, object], more: Mapping[str, str]) -> str:
    return urlencode({name: value for name, value in {**chosen, **more}.items() if value != ""})
