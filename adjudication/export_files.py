"""Files of a judge run or a packet as CSV, JSONL and Parquet.

Their columns have a data dictionary. Rows are written as the records come, so that memory does not
grow with the cohort; Parquet is written one row group at a time.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from timelines.formats.tables.writer import safe_cell

ROW_GROUP = 20_000
#: Describes `safe_cell`; JSONL and Parquet have every text unchanged.
SAFE_IN_CSV = (
    "; in CSV with an apostrophe before it if a spreadsheet would run it (it begins with = + -"
    " @, a tab or a carriage return, after any apostrophes of its own): take one apostrophe away"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file.

    `text`: has words of a note, a timeline, the record or the judge; left out unless requested.
    `free`: has a name that a person chose.
    """

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    text: bool = False
    free: bool = False


TEXT, INT, BOOL, NUMBER = pa.string(), pa.int64(), pa.bool_(), pa.float64()


def write_csv(rows: Iterable[dict[str, Any]], columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield a head and a row per record, safe to open in a spreadsheet."""
    names = [c.name for c in columns]
    yield _row(names)
    for row in rows:
        yield _row([_cell(row[name]) for name in names])


def write_jsonl(rows: Iterable[dict[str, Any]], columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield a JSON object per line."""
    names = [c.name for c in columns]
    for row in rows:
        yield (json.dumps({name: row[name] for name in names}, ensure_ascii=False) + "\n").encode()


def write_parquet(rows: Iterable[dict[str, Any]], columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield a Parquet file in parts, one row group at a time."""
    waiting = iter(rows)
    groups = iter(lambda: list(islice(waiting, ROW_GROUP)), [])
    yield from write_blocks(
        ({c.name: [row[c.name] for row in group] for c in columns} for group in groups), columns
    )


def write_blocks(
    blocks: Iterable[Mapping[str, Sequence[Any]]], columns: Sequence[Column]
) -> Iterator[bytes]:
    """Yield a Parquet file in parts; each block of columns is a row group."""
    schema = pa.schema(
        [
            pa.field(c.name, c.type, metadata={"description": c.meaning, "unit": c.unit})
            for c in columns
        ]
    )
    drain = _Drain()
    with pq.ParquetWriter(pa.PythonFile(drain, mode="w"), schema, compression="zstd") as writer:
        for block in blocks:
            arrays = [pa.array(block[c.name], c.type) for c in columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield drain.take_bytes()
    yield drain.take_bytes()


def write_dictionary(columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield a row per column with its meaning.

    It says how the CSV file changes unsafe text.
    """
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
    """A write-only file that forgets what was taken and knows its position."""

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

    def take_bytes(self) -> bytes:
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
