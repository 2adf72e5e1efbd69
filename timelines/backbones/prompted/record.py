"""The structured record as a revision prompt prints it.

Every row once, numbered r1, r2, …, grouped by series in order of time. An answer cites rows by these
numbers (protocol section 2, stages 5 and 6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from timelines.backbones.prompted.tables import hours_text
from timelines.domain import Expansion, SourceRow, TimeKind
from timelines.pipeline.values import split_moment

#: Words of a row behind its hour, with at most that many characters a field.
_Line = Callable[[SourceRow, int], str]


@dataclass(frozen=True)
class PrintedRecord:
    """The text of the record, its rows by number, and the numbers of each UID.

    The numbers of a UID are in order of relevance.
    """

    text: str
    rows: tuple[SourceRow, ...]
    numbers_of: Mapping[str, tuple[int, ...]]

    def row(self, number: int) -> SourceRow | None:
        """Return the row with that number, None if none was printed."""
        return self.rows[number - 1] if 1 <= number <= len(self.rows) else None

    def words_of(self, uid: str) -> str:
        """Return "r17 r4 r8-10" for the rows found for the UID; "" without any.

        The most relevant row is first; the others follow in order, three or more in a row as one
        range, because these numbers would be a fifth of a long prompt.
        """
        best, *others = self.numbers_of.get(uid, (0,))
        return " ".join([f"r{best}", *_ranges(sorted(others))]) if best else ""


def print_record(found: Expansion, most: int) -> PrintedRecord:
    """Print the rows; fields have at most `most` characters.

    The stay itself comes first, then the series by name; a start and its end are one series.
    """
    rows: list[SourceRow] = []
    blocks: list[str] = []

    def add(heading: str, block: Sequence[SourceRow], line: _Line) -> None:
        lines = [heading]
        for row in block:
            rows.append(row)
            lines.append(f"r{len(rows)} | {hours_text(row.time)} | {line(row, most)}")
        blocks.append("\n".join(lines))

    if found.skeleton:
        add("== the stay", found.skeleton, _stay_line)
    printed = {row.row_index for row in found.skeleton}
    series: dict[str, dict[int, SourceRow]] = defaultdict(dict)
    for item in found.evidence:
        if item.row.row_index not in printed:
            series[split_moment(item.row.event)[0]][item.row.row_index] = item.row
    for stem in sorted(series):
        block = sorted(series[stem].values(), key=lambda r: (r.time or 0.0, r.row_index))
        heading, line = _series(stem, block, most)
        add(heading, block, line)
    number = {row.row_index: at for at, row in enumerate(rows, start=1)}
    numbers: dict[str, list[int]] = defaultdict(list)
    for item in found.evidence:
        numbers[item.uid].append(number[item.row.row_index])
    text = "\n\n".join(blocks) if blocks else "no rows"
    return PrintedRecord(text, tuple(rows), {uid: tuple(n) for uid, n in numbers.items()})


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Return "r4 r6 r8-10" for ascending numbers, without the spaces."""
    words: list[str] = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        first, *rest = (number for _, number in run)
        if len(rest) < 2:
            words += [f"r{number}" for number in (first, *rest)]
        else:
            words.append(f"r{first}-{rest[-1]}")
    return words


def _stay_line(row: SourceRow, most: int) -> str:
    return f"{_field(row.event.rstrip(':'), most)} {_field(row.value, most)}".strip()


def _series(stem: str, block: Sequence[SourceRow], most: int) -> tuple[str, _Line]:
    """Return the heading of a series and how to print one of its rows.

    The heading has what is the same for all rows: unit and kind of moment. A row without a value,
    such as the end of an infusion, has no unit.
    """
    units = {row.unit for row in block if row.value or row.unit}
    unit = units.pop() if len(units) == 1 else None
    kind = block[0].time_kind if len({row.time_kind for row in block}) == 1 else None

    def line(row: SourceRow, most: int) -> str:
        moment = split_moment(row.event)[1]
        value = row.value if row.unit == unit else f"{row.value} {row.unit}"
        words = (moment, _amount(row, moment) if row.value else "", _field(value, most))
        said = " ".join(word for word in words if word) or "–"
        return said if row.time_kind is kind else f"{said} | {row.time_kind.value}"

    facts = (_field(stem.rstrip(":"), most), unit or "", kind.value if kind else "")
    return "== " + " | ".join(fact for fact in facts if fact), line


def _amount(row: SourceRow, moment: str) -> str:
    """Say whether the value of an administration is a rate or an amount.

    Records give the rate at the start (per hour, per kg) and the amount at the end; a bolus has its
    amount at the start too.
    """
    if row.time_kind is not TimeKind.ADMINISTRATION or not moment:
        return ""
    if moment == "start":
        return "rate" if not row.unit or "/" in row.unit else "amount"
    return "amount"


def _field(text: str, most: int) -> str:
    return " ".join(text.split()).replace("|", "/")[:most]
