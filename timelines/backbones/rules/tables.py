"""Read tables whose values have a date.

The date is that of the row or the column, or a start and a stop. Columns are set apart by two
spaces, tabs or bars. A row has its date in its first or last cell ("HEMOGLOBIN  7.2  L  12-APR
1540"), two of them are start and stop of an order, and a line of dates alone dates the columns
below it. Other lines are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_SURE_DATE = (
    rf"(?:\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|\d{{4}}-\d\d-\d\d|\d{{1,2}}[\s-]?{_MONTH}(?:[\s-]\d{{2,4}}(?!\d|:))?|"
    rf"{_MONTH}\s\d{{1,2}}(?:,?\s\d{{4}})?)"
)
_BARE_DATE = r"(?:1[0-2]|0?[1-9])/(?:3[01]|[12]\d|0?[1-9])"
_HOUR = r"(?:[01]?\d|2[0-4]):?[0-5]\d(?:\s?[ap]m)?"
_DATED = re.compile(
    rf"(?:{_SURE_DATE}(?:,?\s{_HOUR})?|{_BARE_DATE},?\s{_HOUR}|(?:hd|pod)\s?#?\d{{1,3}}(?:\s{_HOUR})?)",
    re.IGNORECASE,
)
_HEAD = re.compile(rf"(?:{_DATED.pattern}|{_BARE_DATE})", re.IGNORECASE)
_CLOCK = re.compile(_HOUR, re.IGNORECASE)
#: What is written instead of the date at which an order stopped.
_GOES_ON = re.compile(r"d/?c|disch\w*|cont\w*|ongoing|active|current|--?", re.IGNORECASE)
_GAP = re.compile(r"[ \t|]{2,}|[\t|]")
_NAMED, _FIGURE = re.compile(r"[A-Za-z]{2,}"), re.compile(r"(?<![A-Za-z])\d")
#: Numbers, of which a value has one; a blood pressure is one.
_NUMBER = re.compile(r"\d+(?:[./]\d+)*")
_CORNER = re.compile(
    r"(?:date|time|test|lab|component|collected|result|analyte|value|parameter)s?\b.*",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"[-–.*]*")
_FLAG = re.compile(r"[HLA*!]{1,2}|high|low|abnormal|normal|critical", re.IGNORECASE)
_PROSE = re.compile(r"[,;:.]\s")
_LONGEST_NAME = 60

Cell = tuple[int, int]


@dataclass(frozen=True)
class Item:
    """One entry of a table, `[start, end)` in the note.

    `when` are the places of the date and perhaps of the clock time that belong to it.
    """

    start: int
    end: int
    mention: str
    when: tuple[Cell, ...]


@dataclass(frozen=True)
class Row:
    """A line of a table, `[start, end)`; lines of headings have no items."""

    start: int
    end: int
    items: tuple[Item, ...]


def find_rows(text: str) -> tuple[Row, ...]:
    """Return the lines of all tables with dates, in order."""
    rows: list[Row] = []
    for block in _blocks(text):
        rows.extend(_Block(text, block).read())
    return tuple(rows)


def _blocks(text: str) -> Iterator[list[list[Cell]]]:
    """Yield neighbouring lines, each as its cells.

    They end before an empty line or a line of text.
    """
    block: list[list[Cell]] = []
    for line in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n|$)", text):
        cells = _cells(text, line.start(), line.start() + len(line.group().rstrip("\r\n")))
        if len(cells) >= 2:
            block.append(cells)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _cells(text: str, start: int, end: int) -> list[Cell]:
    edges = [start]
    for gap in _GAP.finditer(text, start, end):
        edges += [gap.start(), gap.end()]
    edges.append(end)
    found = []
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        if words := text[a:b].strip():
            a += text[a:b].index(words[0])
            found.append((a, a + len(words)))
    return found


class _Block:
    """Neighbouring lines of cells, read from the top."""

    def __init__(self, text: str, lines: Sequence[list[Cell]]) -> None:
        self.text, self.lines = text, lines
        self.columns: list[tuple[Cell, ...]] = []
        self.titles: list[Cell] = []
        self.name = ""

    def read(self) -> list[Row]:
        """Return the rows with dates, and the headings right above them."""
        rows: list[Row] = []
        pending: list[Row] = []
        for cells in self.lines:
            items = self._items(cells)
            row = Row(cells[0][0], cells[-1][1], tuple(items or ()))
            if items is None:
                continue
            if items:
                rows += [*pending, row]
                pending = []
            else:
                pending.append(row)
        return rows

    def _items(self, cells: list[Cell]) -> list[Item] | None:
        """Return the entries of a line.

        A line of headings has none; None for text.
        """
        if self._opens_columns(cells):
            return []
        dated = [i for i, cell in enumerate(cells) if self._is(_DATED, cell)]
        last = len(cells) - 1
        if self.columns and not dated:
            return self._by_column(cells)
        if dated and dated[0] == 0 and dated != [0, last]:
            return self._date_first(cells)
        if dated == [last] or dated in ([last - 1], [last - 1, last]):
            stops = dated[0] == last - 1
            if not stops or self._is(_DATED, cells[last]) or self._is(_GOES_ON, cells[last]):
                return self._date_last(cells, stops)
        if not dated and not any(_FIGURE.search(self._at(c)) for c in cells):
            self.titles = cells
            return []
        return None

    def _opens_columns(self, cells: list[Cell]) -> bool:
        heads = cells[1:] if self._is(_CORNER, cells[0]) else cells
        if len(heads) < 2:
            return False
        if all(self._is(_HEAD, c) for c in heads):
            self.columns = [(c,) for c in heads]
            return True
        if len(heads) == len(self.columns) and all(self._is(_CLOCK, c) for c in heads):
            self.columns = [(*column[:1], c) for column, c in zip(self.columns, heads, strict=True)]
            return True
        return False

    def _by_column(self, cells: list[Cell]) -> list[Item] | None:
        if not _NAMED.search(self._at(cells[0])):
            return None
        name, found = self._at(cells[0]), []
        for i, cell in enumerate(cells[1:]):
            if _EMPTY.fullmatch(self._at(cell)):
                continue
            column = min(
                self.columns, key=lambda c: _distance(self._place(c[0]), self._place(cell))
            )
            start = cells[0][0] if i == 0 else cell[0]
            found.append(Item(start, cell[1], f"{name} {self._at(cell)}", column))
        return found

    def _date_first(self, cells: list[Cell]) -> list[Item] | None:
        when, values = cells[0], cells[1:]
        if any(self._is_text(c) for c in values):
            return None
        found = []
        for i, cell in enumerate(values):
            if _EMPTY.fullmatch(self._at(cell)):
                continue
            start = when[0] if i == 0 else cell[0]
            found.append(Item(start, cell[1], self._title(cell) + self._at(cell), (when,)))
        return found

    def _date_last(self, cells: list[Cell], stops: bool) -> list[Item] | None:
        begin = cells[-2] if stops else cells[-1]
        before = cells[: -2 if stops else -1]
        if any(c[1] - c[0] > _LONGEST_NAME for c in before):
            return None
        first = self._at(before[0]) if before else ""
        if _NAMED.search(first) and not first[0].isdigit() and not _FLAG.fullmatch(first):
            self.name = first
            values = before[1:]
        else:
            values = before
        if not self.name:
            return None
        words = [self.name, *(self._at(c) for c in values)]
        found = [Item(cells[0][0], begin[1], " ".join(words), (begin,))]
        if stops and self._is(_DATED, cells[-1]):
            stop = cells[-1]
            found.append(Item(stop[0], stop[1], f"{self.name} stopped", (stop,)))
        return found

    def _is_text(self, cell: Cell) -> bool:
        """Return whether a cell has more than one value, or is a sentence."""
        words = self._at(cell)
        several = len(_NUMBER.findall(words)) > 1
        return several or len(words) > _LONGEST_NAME or _PROSE.search(words) is not None

    def _title(self, cell: Cell) -> str:
        """Return the heading above a cell, if there is one for each column."""
        if len(self.titles) < 2 or self._at(cell)[:1].isalpha():
            return ""
        near = min(self.titles, key=lambda c: _distance(self._place(c), self._place(cell)))
        return f"{self._at(near)} "

    def _at(self, cell: Cell) -> str:
        return self.text[cell[0] : cell[1]].strip()

    def _is(self, pattern: re.Pattern[str], cell: Cell) -> bool:
        return pattern.fullmatch(self._at(cell)) is not None

    def _place(self, cell: Cell) -> Cell:
        """Return where a cell begins and ends in its line."""
        line = max(self.text.rfind("\n", 0, cell[0]), self.text.rfind("\r", 0, cell[0])) + 1
        return cell[0] - line, cell[1] - line


def _distance(one: Cell, other: Cell) -> int:
    """Columns are aligned on the left, on the right or in the middle."""
    return min(abs(one[0] - other[0]), abs(one[1] - other[1]), abs(sum(one) - sum(other)) // 2)
