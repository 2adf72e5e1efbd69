"""Files of rows, `t,event,value[,unit,source,time_kind]` as CSV, gzipped CSV or Parquet, into the columns of the record.

Row i of a file keeps index i, also where rows before it are rejected. Source: the `cases` folder format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ehr.formats.base import Rejection
from ehr.formats.columns import clock_times, numbers_of, text_of
from ehr.formats.csv_blocks import RAW_CHARACTERS, TextBlock, WrongFile, read_csv_blocks
from ehr.schema import ROWS, TimeKind

REQUIRED = ("t", "event", "value")
OPTIONAL = ("unit", "source", "time_kind")
PARQUET_ROWS = 100_000
TIME_KINDS = pa.array([kind.value for kind in TimeKind])
SUFFIXES = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Block:
    """Some rows of a file (`ehr.schema.ROWS`), what was rejected among them, and how many of those for their time."""

    rows: pa.Table
    rejections: tuple[Rejection, ...]
    invalid_times: int


def read_rows(path: Path, name: str) -> Iterator[Block]:
    """The file's rows block by block; `name` is how rejections call the file. Raises WrongFile."""
    raw = _parquet(path, name) if path.suffix == ".parquet" else read_csv_blocks(path, name, REQUIRED, OPTIONAL)
    return (_checked(block, name) for block in raw)


def _parquet(path: Path, name: str) -> Iterator[TextBlock]:
    """Batches of a Parquet file as text; "line" means the row's number, counted from 2 as in a CSV file with a header."""
    try:
        file = pq.ParquetFile(path)
        columns = [c for c in (*REQUIRED, *OPTIONAL) if c in file.schema_arrow.names]
        for column in REQUIRED:
            if column not in columns:
                raise WrongFile(Rejection(name, f"the column {column} is missing", field=column))
        start = 0
        for batch in file.iter_batches(batch_size=PARQUET_ROWS, columns=columns):
            positions = np.arange(start, start + batch.num_rows)
            start += batch.num_rows
            yield TextBlock(pa.table({c: text_of(batch.column(c)) for c in columns}), positions, positions + 2, 0)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
        reason = "the file is missing" if isinstance(error, FileNotFoundError) else "the file cannot be read as Parquet"
        raise WrongFile(Rejection(name, reason)) from error


def _checked(block: TextBlock, name: str) -> Block:
    """Split the block into good rows and rejections; the first fault of a row is the one that is named."""
    text = {c: pc.utf8_trim_whitespace(block.columns[c]) for c in block.columns.column_names}
    nothing = pa.chunked_array([pa.repeat("", len(block))])
    kinds = text.get("time_kind", nothing)
    kinds = pc.if_else(pc.equal(kinds, ""), TimeKind.UNKNOWN.value, kinds)
    times, wrong_time = clock_times(text["t"])
    faults = [
        ("t", "not a date and time like 2150-01-31T08:30:00", wrong_time),
        ("event", "the event is empty", pc.equal(text["event"], "")),
        ("time_kind", f"not one of {', '.join(TIME_KINDS.to_pylist())}", pc.invert(pc.is_in(kinds, TIME_KINDS))),
        *((c, "the text holds a NUL character", pc.match_substring(column, "\x00")) for c, column in text.items()),
    ]
    bad, rejections = _faulty(block, faults, name)
    rows = pa.table(
        {
            "row_index": pa.array(block.positions, pa.int32()),
            "time": times,
            "result_time": pa.nulls(len(block), ROWS.field("result_time").type),
            "event": text["event"],
            "value": text["value"],
            "numeric_value": numbers_of(text["event"], text["value"]),
            "unit": text.get("unit", nothing),
            "source": text.get("source", nothing),
            "time_kind": kinds,
        },
        schema=ROWS,
    )
    invalid_times = sum(1 for r in rejections if r.field == "t")
    return Block(rows.filter(pa.array(~bad)) if bad.any() else rows, (*block.rejections, *rejections), invalid_times)


def _faulty(block: TextBlock, faults: list[tuple[str, str, pa.ChunkedArray]], name: str) -> tuple[np.ndarray, list[Rejection]]:
    """(mask of the bad rows, one rejection each)."""
    bad = np.zeros(len(block), bool)
    rejections: list[tuple[int, Rejection]] = []
    for column, reason, mask in faults:
        for i in np.flatnonzero(mask.to_numpy() & ~bad).tolist():
            raw = ",".join(str(c[i].as_py()) for c in block.columns.columns).replace("\x00", "\\0")
            rejections.append((i, Rejection(name, reason, block.line(i), column, raw[:RAW_CHARACTERS])))
            bad[i] = True
    return bad, [rejection for _, rejection in sorted(rejections, key=lambda pair: pair[0])]
