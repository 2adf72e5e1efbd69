"""Read our own exports: JSONL, CSV, Parquet and MEDS.

Each line names its case, source, kind and alternative.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from timelines.domain import Lane, Polarity
from timelines.formats.assembling import find_files, group_lines, read_text
from timelines.formats.fields import parse_event, parse_heading, parse_object
from timelines.formats.values import Cases, Event, Fault, Foreign, Heading, Unreadable

#: The columns that a table needs to be read as one of ours.
NEEDED = ("case_id", "mention", "time")
_Line = tuple[int, Heading | None, Event | Fault]


def read_jsonl(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """`timelines.jsonl`, or a folder of such files."""
    for file in find_files(path, ".jsonl"):
        try:
            text = read_text(file)
        except Unreadable as error:
            yield error.make_fault(file.name)
            continue
        numbered = ((n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip())
        yield from group_lines(
            file.name, (_json_line(file.name, n, line, cases) for n, line in numbered), cases
        )


def read_parquet(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """`timelines.parquet`, or a folder of such files."""
    for file in find_files(path, ".parquet"):
        try:
            rows = _parquet_rows(file, NEEDED)
        except Unreadable as error:
            yield error.make_fault(file.name)
            continue
        yield from group_lines(
            file.name,
            (_line(file.name, n, row, cases) for n, row in enumerate(rows, start=1)),
            cases,
        )


def read_meds(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """Read a MEDS dataset that we wrote.

    `data/*.parquet` below the folder. The column `ordinal` restores the order.
    """
    for file in find_files(path / "data" if (path / "data").is_dir() else path, ".parquet"):
        try:
            rows = _parquet_rows(file, ("case_id", "code", "text_value", "hours"))
        except Unreadable as error:
            yield error.make_fault(file.name)
            continue
        numbered = sorted(
            enumerate(rows, start=1), key=lambda pair: (pair[1].get("ordinal") or 0, pair[0])
        )
        yield from group_lines(
            file.name, (_line(file.name, n, _parse_meds(row), cases) for n, row in numbered), cases
        )


def read_own_csv(file: str, text: str, cases: Cases) -> Iterator[Foreign | Fault]:
    """Read a table with our headings.

    Removes the apostrophe that protects text from spreadsheets.
    """
    yield from group_lines(file, _csv_lines(file, text, cases), cases)


def _csv_lines(file: str, text: str, cases: Cases) -> Iterator[_Line]:
    # evidence of a long series as JSON exceeds the default of 128 KiB
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                yield (
                    reader.line_num,
                    None,
                    Fault(file, reader.line_num, "", "more or fewer cells than the heading has"),
                )
            else:
                yield _line(file, reader.line_num, _parse_cells(row), cases)
    except csv.Error:
        yield (
            reader.line_num,
            None,
            Fault(file, reader.line_num, "", "quotes are not closed; the file may be cut off"),
        )


def _json_line(file: str, number: int, line: str, cases: Cases) -> _Line:
    try:
        return _line(file, number, parse_object(line), cases)
    except Unreadable as error:
        return number, None, error.make_fault(file, number)


def _line(file: str, number: int, values: Mapping[str, Any], cases: Cases) -> _Line:
    try:
        heading = parse_heading(values)
    except Unreadable as error:
        return number, None, error.make_fault(file, number)
    try:
        event = parse_event(values)
        check_span_text(event, values.get("span_text"), heading, cases)
    except Unreadable as error:
        return number, heading, error.make_fault(file, number)
    return number, heading, event


def check_span_text(event: Event, text: object, heading: Heading, cases: Cases) -> None:
    """Check a line's quoted span against our note.

    Raises Unreadable if they differ.
    """
    if not text or event.start is None:
        return
    facts = cases(heading.case)
    if facts is not None and facts.note[event.start : event.end] != text:
        raise Unreadable(
            "span_text",
            "the note has other text there; the timeline belongs to another version of the note",
        )


def _parse_cells(row: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: cell.removeprefix("'") if _is_guarded(cell) else cell for name, cell in row.items()
    }
    for name in ("known", "start", "end", "alternative"):
        if isinstance(cell := values.get(name), str) and cell.isdigit():
            values[name] = int(cell)
    values["known"] = None if values.get("known") == "" else values.get("known")
    if "rows" in values:
        values["rows"] = _split_rows(values["rows"])
    return values


def _split_rows(cell: Any) -> Any:
    """Return numbers that are separated by spaces; anything else unchanged."""
    if not isinstance(cell, str):
        return cell
    return [int(r) if r.isascii() and r.isdigit() else r for r in cell.split()]


def _is_guarded(cell: str) -> bool:
    return cell.startswith("'") and cell.lstrip("'").startswith(("=", "+", "-", "@", "\t", "\r"))


def _parse_meds(row: Mapping[str, Any]) -> dict[str, Any]:
    lane, _, polarity = str(row["code"]).removeprefix("OCCURRENCE//").partition("//")
    values = {
        **row,
        "mention": row["text_value"],
        "time": row["hours"],
        "lane": lane.lower(),
        "polarity": polarity.lower(),
        "known": None if row.get("known") is None else int(row["known"]),
        "rows": _split_rows(row.get("rows")),
        "reason": row.get("reason") or "",
        "decided_by": row.get("decided_by") or "",
    }
    if values["lane"] not in tuple(Lane) or values["polarity"] not in tuple(Polarity):
        values["lane"] = "?"
    return values


def _parquet_rows(file: Path, needed: Iterable[str]) -> list[dict[str, Any]]:
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        table = pq.read_table(file, use_threads=False, partitioning=None)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise Unreadable("", "not a Parquet file, or cut off") from None
    missing = [name for name in needed if name not in table.column_names]
    if missing:
        raise Unreadable(missing[0], "the table has no such column; it is none of our exports")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
