"""Files of a judge run or a packet: columns with a data dictionary, and their records as CSV, JSONL
and Parquet.

Lines are written as the records come, so that memory does not grow with the cohort; Parquet goes
out a row group at a time.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from timelines.formats.tables.writer import safe_cell

ROW_GROUP = 20_000
#: What `safe_cell` does; JSONL and Parquet hold every text as it is.
SAFE_IN_CSV = (
    "; in CSV with an apostrophe before it where a spreadsheet would run it (it begins with = + -"
    " @, a tab or a carriage return, after any apostrophes of its own): take one apostrophe away"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file.

    `text`: has words of a note, a timeline, the record or the judge; left out unless requested.
    `free`: has a name that somebody chose.
    """

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    text: bool = False
    free: bool = False


TEXT, INT, BOOL, NUMBER = pa.string(), pa.int64(), pa.bool_(), pa.float64()


def write_csv(rows: Iterable[dict[str, Any]], columns: Sequence[Column]) -> Iterator[bytes]:
    """A head and a line a record; cells that a spreadsheet would run are made safe."""
    names = [c.name for c in columns]
    yield _row(names)
    for row in rows:
        yield _row([_cell(row[name]) for name in names])


def write_jsonl(rows: Iterable[dict[str, Any]], columns: Sequence[Column]) -> Iterator[bytes]:
    """A JSON object a line."""
    names = [c.name for c in columns]
    for row in rows:
        yield (json.dumps({name: row[name] for name in names}, ensure_ascii=False) + "\n").encode()


def write_parquet(rows: Iterable[dict[str, Any]], columns: Sequence[Column]) -> Iterator[bytes]:
    """A Parquet file in parts, a row group at a time."""
    schema = pa.schema(
        [
            pa.field(c.name, c.type, metadata={"description": c.meaning, "unit": c.unit})
            for c in columns
        ]
    )
    drain = _Drain()
    with pq.ParquetWriter(pa.PythonFile(drain, mode="w"), schema, compression="zstd") as writer:
        waiting = iter(rows)
        while block := list(islice(waiting, ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(block, schema=schema))
            yield drain.taken()
    yield drain.taken()


def write_dictionary(columns: Sequence[Column]) -> Iterator[bytes]:
    """What each column means, a line each, and where the CSV file does not hold it as it is."""
    yield _row(["column", "type", "unit", "meaning"])
    for c in columns:
        yield _row(
            [
                c.name,
                str(c.type),
                c.unit,
                c.meaning + SAFE_IN_CSV * (c.type == TEXT and (c.text or c.free)),
            ]
        )


class _Drain(io.RawIOBase):
    """A file that forgets what was taken from it, and knows how far it has come."""

    def __init__(self) -> None:
        super().__init__()
        self._kept, self._length = bytearray(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        part = bytes(data)
        self._kept += part
        self._length += len(part)
        return len(part)

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        found, self._kept = bytes(self._kept), bytearray()
        return found


def _row(cells: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return safe_cell(value) if isinstance(value, str) else str(value)


#: Format → (content type, ending, writer).
FORMATS: dict[str, tuple[str, str, Callable[..., Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", "csv", write_csv),
    "jsonl": ("application/jsonl; charset=utf-8", "jsonl", write_jsonl),
    "parquet": ("application/vnd.apache.parquet", "parquet", write_parquet),
}
