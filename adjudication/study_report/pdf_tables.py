"""Tables of a report's PDF. No Django."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudication.study_report.layout import (
    LINE,
    column_widths,
    is_number,
    is_published,
    split_columns,
)
from adjudication.study_report.styles import PLAIN, SMALL, Styles
from timelines.evaluation.tables import Table, format_words

#: Points beside the text of a cell.
LEFT, RIGHT = 2, 4


def lay_table(table: Table, use: Styles) -> Iterator[Any]:
    """Yield a table under its title; a wide one in parts, one below the other."""
    for number, part in enumerate(split_columns(table)):
        title = f"{table.title} (continued)" if number else table.title
        yield from use.begin(title, use.name)
        yield _draw(part, use)


def _draw(table: Table, use: Styles) -> Any:
    widths = [use.width * width / LINE for width in column_widths(table)]
    numbers = [is_number(table, at) for at in range(len(table.heads))]
    lines = [list(table.heads), *([format_words(cell) for cell in row] for row in table.rows)]
    cells = [
        [
            _cell(words, width, number, use)
            for words, width, number in zip(line, widths, numbers, strict=True)
        ]
        for line in lines
    ]
    # A row that is taller than a page goes on on the next one.
    drawn = use.flow.Table(cells, colWidths=widths, repeatRows=1, hAlign="LEFT", splitInRow=1)
    drawn.setStyle([*_look(use), *_align(numbers), *_soften(table, use)])
    return drawn


def _cell(words: str, width: float, number: bool, use: Styles) -> Any:
    """Return words that fit as they are, since paragraphs are slow."""
    text = use.printable(words)
    if "\n" not in text and use.fits(text, width - LEFT - RIGHT):
        return text
    return use.say(words, use.number if number else use.small)


def _look(use: Styles) -> list[tuple[Any, ...]]:
    dark, light = use.colors.HexColor("#82909a"), use.colors.HexColor("#dfe5e9")
    whole = ((0, 0), (-1, -1))
    return [
        ("FONT", *whole, PLAIN, SMALL, 8.5),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, dark),
        ("LINEBELOW", (0, 1), (-1, -1), 0.25, light),
        ("VALIGN", *whole, "TOP"),
        ("LEFTPADDING", *whole, LEFT),
        ("RIGHTPADDING", *whole, RIGHT),
        ("TOPPADDING", *whole, 1.5),
        ("BOTTOMPADDING", *whole, 1.5),
    ]


def _align(numbers: list[bool]) -> list[tuple[Any, ...]]:
    return [
        ("ALIGN", (at, 0), (at, -1), "RIGHT" if number else "LEFT")
        for at, number in enumerate(numbers)
    ]


def _soften(table: Table, use: Styles) -> list[tuple[Any, ...]]:
    """Give published lines a grey ground; their words say so, too."""
    ground = use.colors.HexColor("#f1f4f6")
    return [
        ("BACKGROUND", (0, at), (-1, at), ground)
        for at, row in enumerate(table.rows, 1)
        if is_published(row)
    ]
