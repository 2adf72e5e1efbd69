"""`event,time[,confidence]` as tables of commas or bars.

Single-step baselines answer in this form. A file has one case and its name, with or without a
heading; or one table has a column `case_id`. Times are hours from admission, or N/A. A fourth
column `occurrent` in files that we wrote has everything else of the line as JSON. Tables with our
own headings are read completely.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from llm_runtime.schema import Strict
from timelines.formats.assembling import (
    assemble,
    find_case,
    find_files,
    group_lines,
    parse_stem,
    read_text,
)
from timelines.formats.fields import (
    Hours,
    Mention,
    parse_event,
    parse_heading,
    parse_object,
    read_line,
)
from timelines.formats.tables.reader import NEEDED, read_own_csv
from timelines.formats.values import Cases, Event, Fault, Foreign, Heading, Unreadable


class EventRow(Strict, extra="ignore"):
    """The cells of a line that a person or a model wrote."""

    time: Hours = None
    confidence: Hours = None
    event: Mention


COLUMNS = ("event", "time", "confidence", "occurrent")
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_Row = tuple[int, list[str]]


def read_csv(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """`*.csv`: our own export, or events and times by commas."""
    for file in find_files(path, ".csv"):
        if file.name.endswith(".dictionary.csv"):
            continue
        try:
            text = read_text(file)
            first = text.split("\n", 1)[0].strip().split(",")
            if all(name in first for name in NEEDED):
                yield from read_own_csv(file.name, text, cases)
            else:
                yield from _table(file, _comma_rows(text), cases)
        except Unreadable as error:
            yield error.make_fault(file.name)


def read_bsv(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """Read `*.bsv` (also `.psv`, `.txt`): events and times by bars.

    A backslash precedes a bar inside an event.
    """
    for file in find_files(path, ".bsv", ".psv", ".txt"):
        try:
            lines = [
                (n, line.rstrip("\r"))
                for n, line in enumerate(read_text(file).split("\n"), start=1)
            ]
            yield from _table(
                file, [(n, split_bars(line)) for n, line in lines if line.strip()], cases
            )
        except Unreadable as error:
            yield error.make_fault(file.name)


def split_bars(line: str) -> list[str]:
    r"""Return the cells between bars that no backslash escapes.

    `\|` stays escaped: mentions are stored in this form.
    """
    cells = _BAR.sub("\\1\n", line).split("\n")
    cells = [cell.strip() for cell in cells]
    return cells[1:-1] if len(cells) > 3 and not cells[0] and not cells[-1] else cells


def _comma_rows(text: str) -> list[_Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        return [
            (reader.line_num, [c.strip() for c in row])
            for row in reader
            if any(c.strip() for c in row)
        ]
    except csv.Error:
        raise Unreadable(
            "", "quotes are not closed; the file may be cut off", reader.line_num
        ) from None


def _table(file: Path, rows: list[_Row], cases: Cases) -> Iterator[Foreign | Fault]:
    heading = [c.lower() for c in rows[0][1]] if rows else []
    named = "event" in heading and "time" in heading
    if named:
        rows = [row for row in rows[1:] if not all(re.fullmatch(r":?-{2,}:?", c) for c in row[1])]
    columns = heading if named else list(COLUMNS[:3])
    if "case_id" in columns:
        yield from _group_by_case(file, columns, rows, cases)
        return
    items = [_item(file.name, columns, number, cells) for number, cells in rows]
    first = next((h for h, _ in items if h is not None), Heading(parse_stem(file)))
    facts = find_case(first, cases)
    yield from assemble(file.name, first, [item for _, item in items], facts)


def _group_by_case(
    file: Path, columns: list[str], rows: list[_Row], cases: Cases
) -> Iterator[Foreign | Fault]:
    lines: list[tuple[int, Heading | None, Event | Fault]] = []
    for number, cells in rows:
        _, item = _item(file.name, columns, number, cells)
        values = dict(zip(columns, cells, strict=False))
        lines.append((number, Heading(values["case_id"]) if values.get("case_id") else None, item))
        if lines[-1][1] is None and isinstance(item, Event):
            lines[-1] = (number, None, Fault(file.name, number, "case_id", "no case is named"))
    yield from group_lines(file.name, lines, cases)


def _item(
    file: str, columns: list[str], number: int, cells: list[str]
) -> tuple[Heading | None, Event | Fault]:
    """The event of a row; with the heading that a line of ours carries."""
    try:
        if not 2 <= len(cells) <= len(columns):
            raise Unreadable("", f"{len(cells)} cells; a line is {', '.join(columns)}")
        values = dict(zip(columns, cells, strict=False))
        whole = values.get("occurrent", "")
        if whole:
            own = parse_object(whole)
            return parse_heading(own), _check_agreement(parse_event(own), values)
        return None, _read_plain(values)
    except Unreadable as error:
        return None, error.make_fault(file, number)


def _read_plain(values: dict[str, str]) -> Event:
    line = read_line(EventRow, values)
    return Event(
        mention=line.event,
        time=line.time,
        confidence=line.confidence,
        sought=True,
        polarity_given=False,
        lane_given=False,
    )


def _check_agreement(own: Event, values: dict[str, str]) -> Event:
    """Check that a line agrees with its JSON.

    A line whose plain cells were changed does not. Raises Unreadable.
    """
    plain = _read_plain(values)
    if (plain.mention, plain.time, plain.confidence) != (own.mention, own.time, own.confidence):
        raise Unreadable(
            "occurrent", "the cells before it contradict it; clear this cell in changed lines"
        )
    return own
