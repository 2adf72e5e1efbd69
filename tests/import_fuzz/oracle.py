"""The content of a file, read without the importer.

It uses a CSV reader of a few lines, Python's gzip, and rules written a second time.
"""

from __future__ import annotations

import gzip
import re
import zlib
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

KINDS = {
    "",
    "collection",
    "result",
    "order",
    "administration",
    "performed",
    "charted",
    "administrative",
    "unknown",
}
TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?)"
    r"( ?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?))?"
)
#: line → (t, event, value, unit, source, time_kind)
Rows = dict[int, tuple[str, ...]]


class Unreadable(Exception):
    """The file cannot be read as a whole."""


def records(path: Path) -> list[tuple[int, list[str]]]:
    """Return (line, fields) of every record of a CSV file.

    The header comes first; blank lines are left out.
    """
    try:
        content = path.read_bytes()
        text = (
            (gzip.decompress(content) if path.suffix.lower() == ".gz" else content)
            .decode("utf-8")
            .removeprefix("\ufeff")
        )
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        raise Unreadable from None
    text = text.replace("\r\n", "\n\x01").replace("\r", "\n").replace("\n\x01", "\r\n")
    found: list[tuple[int, list[str]]] = []
    line = start = 1
    fields: list[str] = []
    field, quoted, closed = "", False, False
    for i, c in enumerate(text + "\n"):
        if quoted:
            if c == '"':
                quoted, closed = False, True
            else:
                line += c == "\n"
                field += c
        elif c == '"':
            if closed and text[i - 1] == '"':
                field += '"'
            elif field:
                raise Unreadable
            quoted, closed = True, False
        elif c in ",\n":
            fields, field, closed = (
                [*fields, field.removesuffix("\r") if c == "\n" and not closed else field],
                "",
                False,
            )
            if c == "\n":
                if fields != [""] or (i and text[i - 1] == '"'):
                    found.append((start, fields))
                fields, line = [], line + 1
                start = line
        elif closed and not (c == "\r" and text[i + 1 : i + 2] in ("\n", "")):
            raise Unreadable
        elif not closed:
            field += c
    if quoted:
        raise Unreadable
    return found


def read_time(text: str) -> datetime | None:
    """Return the clock time that the formats allow, None for another text.

    An offset is left out: the time is that of its place.
    """
    found = TIME.fullmatch(text)
    if found is None or (found[5] and not found[2]):
        return None
    try:
        return datetime.fromisoformat(found[1])
    except ValueError:
        return None


def is_time(text: str) -> bool:
    """True for a clock time that the formats allow."""
    return read_time(text) is not None


def read_rows(path: Path) -> tuple[Rows, set[int]]:
    """(good rows, lines with a fault) of a file of rows. Raises Unreadable."""
    cells = _parquet_cells(path) if path.suffix == ".parquet" else _csv_cells(path)
    good: Rows = {}
    bad: set[int] = set()
    for line, row in cells:
        values = (
            None
            if row is None
            else tuple(
                trim(row.get(c, "")) for c in ("t", "event", "value", "unit", "source", "time_kind")
            )
        )
        if (
            values is None
            or "\x00" in "".join(values)
            or (values[0] and not is_time(values[0]))
            or not values[1]
            or len(values[1].encode()) > 2000
            or values[5] not in KINDS
        ):
            bad.add(line)
        else:
            good[line] = (*values[:5], values[5] or "unknown")
    return good, bad


def trim(text: str) -> str:
    """Without white space at both ends, line breaks all alike."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _csv_cells(path: Path) -> list[tuple[int, dict[str, str] | None]]:
    (_, header), *rest = records(path) or [(1, [])]
    names = [name.strip() for name in header]
    if any(names.count(c) != 1 for c in ("t", "event", "value")) or any(
        names.count(c) > 1 for c in ("unit", "source", "time_kind")
    ):
        raise Unreadable
    return [
        (line, dict(zip(names, fields, strict=True)) if len(fields) == len(names) else None)
        for line, fields in rest
    ]


def _parquet_cells(path: Path) -> list[tuple[int, dict[str, str] | None]]:
    """Raises Unreadable."""
    try:
        rows = read_table(path).to_pylist()
    except (ValueError, OverflowError):
        raise Unreadable from None
    return [
        (i, {k: "" if v is None else str(v) for k, v in row.items()})
        for i, row in enumerate(rows, start=2)
    ]


def read_table(path: Path) -> pa.Table:
    """A Parquet file whole. Raises Unreadable."""
    try:
        # It reads columns of one name, which read_table refuses.
        table = pq.ParquetFile(path, page_checksum_verification=True).read(use_threads=False)
        table.validate(full=True)
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        MemoryError,
    ):
        raise Unreadable from None
    return table
