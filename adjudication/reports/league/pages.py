"""Dashboard tables for pages: figures with intervals, linked counts.

Counts link to the findings browser by query strings
(`adjudication.findings.listing.FindingFilter`). No Django.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from adjudication.domain import Grounding
from adjudication.judging.finding_words import GROUNDING_WORDS
from adjudication.reports.league.compute import DECISIVE
from adjudication.reports.league.overlapping import ALL
from adjudication.reports.league.values import CATEGORIES, JudgeReport
from timelines.evaluation.tables import Cell, Content, Table

#: (row, column) → query of the counted findings.
Links = Mapping[tuple[int, int], str]


#: Heads that pages word differently: files keep their column names.
SHOWN_HEADS: Mapping[str, str] = {
    "Both stand": "Both possible",
    "Penalty a matchup": "Penalty per matchup",
    **{f"Rests on {words}": f"Based on {words}" for words in GROUNDING_WORDS.values()},
}
#: Separates a source from the kind of its timeline.
MARK = " · "


@dataclass(frozen=True, slots=True)
class ShownCell:
    """Words of one cell.

    `number` aligns it to the right, `query` links to findings, `why` says why there is no figure.
    """

    words: str
    interval: str = ""
    number: bool = False
    query: str = ""
    why: str = ""

    @property
    def source(self) -> bool:
        """Whether these words name a source ("rules · revised"), to give it room."""
        return MARK in self.words


@dataclass(frozen=True, slots=True)
class LinkedTable:
    """A table whose rows begin with a heading cell."""

    name: str
    title: str
    heads: tuple[ShownCell, ...]
    rows: tuple[tuple[ShownCell, ...], ...]


def link_table(table: Table, links: Links) -> LinkedTable:
    """Return the table for a page."""
    columns = [[row[at] for row in table.rows] for at in range(len(table.heads))]
    numbers = [
        bool(at) and bool(cells) and all(isinstance(c, int | Cell) for c in cells)
        for at, cells in enumerate(columns)
    ]
    rows = tuple(
        tuple(
            _shown_cell(cell, numbers[at], links.get((line, at), "")) for at, cell in enumerate(row)
        )
        for line, row in enumerate(table.rows)
    )
    return LinkedTable(
        table.name,
        table.title,
        tuple(
            ShownCell(SHOWN_HEADS.get(h, h), number=n)
            for h, n in zip(table.heads, numbers, strict=True)
        ),
        rows,
    )


def _shown_cell(cell: Content, number: bool, query: str) -> ShownCell:
    if not isinstance(cell, Cell):
        return ShownCell(str(cell), number=number, query=query if cell else "")
    if cell.value is None:
        return ShownCell("–", number=True, why=cell.why)
    return ShownCell(cell.format(cell.value), cell.interval, True, query if cell.value else "")


def build_links(report: JudgeReport) -> dict[str, Links]:
    """Map table names to their links."""
    errors = dict(_errors(report))
    return {
        "ratings": {
            (line, 9): _query(flagged=1, charged=_number(report, r.source))
            for line, r in enumerate(report.rated.ratings)
        },
        "profile": errors,
        "counts": errors,
        "verdicts": dict(_verdicts(report)),
    }


def _errors(report: JudgeReport) -> Iterator[tuple[tuple[int, int], str]]:
    for line, profile in enumerate(report.profiles):
        for at, category in enumerate(CATEGORIES):
            yield (
                (line, 2 + at),
                _query(category=category.value, charged=_number(report, profile.source)),
            )


def _verdicts(report: JudgeReport) -> Iterator[tuple[tuple[int, int], str]]:
    for line, v in enumerate(report.verdicts):
        kind = "" if v.type == ALL else v.type
        asked: list[dict[str, str]] = [
            {},
            *({"verdict": verdict} for verdict in (DECISIVE, "BOTH", "NEITHER", "UNCLEAR")),
            {"flagged": "1"},
        ]
        for at, more in enumerate([*asked, *({"grounding": g.value} for g in Grounding)], start=1):
            yield (line, at), _query(type=kind, **more)


def _number(report: JudgeReport, source: str) -> str:
    """Return a source's number in addresses; "" for the average of all."""
    return str(report.sources.index(source)) if source in report.sources else ""


def _query(**asked: str | int) -> str:
    return urlencode({name: value for name, value in asked.items() if value != ""})
