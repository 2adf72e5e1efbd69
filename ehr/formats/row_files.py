"""Read files of rows into the columns of the record.

The files are `t,event,value[,unit,source,time_kind]` as CSV, gzipped CSV or Parquet. Row i of a
file has index i, also if rows before it are rejected. Source: the `cases` folder format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.formats.base import LONGEST_EVENT, RAW_CHARACTERS, Rejection, WrongFile
from ehr.formats.columns import clean_text, clock_times, make_texts, parse_values
from ehr.formats.delimited import TextBlock, read_csv_blocks, reject_unknown
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.parquet import column_names, convert_column, read_batches
from ehr.schema import CLOCK, ROWS, TimeKind

REQUIRED = ("t", "event", "value")
OPTIONAL = ("unit", "source", "time_kind")
PARQUET_ROWS = 100_000
Ints = NDArray[np.int64]
TIME_KINDS = make_texts(*TimeKind)
NOTHING = np.zeros(0, np.int64)
SUFFIXES = (".csv", ".csv.gz", ".parquet")
#: Every column has its own name.
OWN_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Block:
    """Some rows of a file (`ehr.schema.ROWS`), with lines and rejections.

    `invalid_times` counts the rows rejected for their time. `offered` counts the lines of the file
    in this block: each is in `rows` or in `rejections`.
    """

    rows: pa.Table
    lines: Ints
    offered: int
    rejections: tuple[Rejection, ...]
    invalid_times: int


def read_rows(
    path: Path,
    name: str,
    limits: Limits = DEFAULT_LIMITS,
    names: Mapping[str, str] = OWN_NAMES,
) -> Iterator[Block]:
    """Yield the file's rows in blocks. Raises WrongFile.

    `name` is the file's name in rejections; `names` are its names of our columns if they differ.
    With `names` the file may have columns that are not read.
    """
    read = _parquet if path.suffix == ".parquet" else _csv
    ours = {names.get(column, column): column for column in REQUIRED}
    for column in OPTIONAL:
        ours.setdefault(names.get(column, column), column)
    for raw in read(path, name, limits, list(ours), closed=not names):
        columns = [ours[column] for column in raw.columns.column_names]
        block = replace(raw, columns=raw.columns.rename_columns(columns))
        if len(block) and block.positions[-1] >= limits.case_rows:
            raise WrongFile(
                Rejection(
                    name, f"the file has more than {limits.case_rows:,} rows (IMPORT_CASE_ROWS)"
                )
            )
        yield _split_block(block, name)


def _csv(
    path: Path, name: str, limits: Limits, wanted: Sequence[str], *, closed: bool
) -> Iterator[TextBlock]:
    """Yield blocks of a CSV file. The first of `wanted` are required."""
    required, optional = wanted[: len(REQUIRED)], wanted[len(REQUIRED) :]
    most = limits.case_bytes
    return read_csv_blocks(
        path, name, required, optional, limits=limits, most_bytes=most, closed=closed
    )


def _parquet(
    path: Path, name: str, limits: Limits, wanted: Sequence[str], *, closed: bool
) -> Iterator[TextBlock]:
    """Yield batches of a Parquet file as text, as `_csv`.

    A "line" is the row's number, counted from 2 as in a CSV file with a header.
    """
    names = column_names(path, name)
    columns = [c for c in wanted if c in names]
    for column in wanted[: len(REQUIRED)]:
        if column not in columns:
            raise WrongFile(Rejection(name, f"the column {column} is missing", field=column))
    unknown = [
        i
        for i, c in enumerate(names, start=1)
        if c not in columns and not c.startswith("__index_level_")
    ]
    rejections = (reject_unknown(name, unknown),) if unknown and closed else ()
    yield TextBlock(
        pa.table({c: pa.array([], pa.string()) for c in columns}), NOTHING, NOTHING, 0, rejections
    )
    start = 0
    for batch in read_batches(
        path,
        name,
        columns,
        PARQUET_ROWS,
        limits,
        most_rows=limits.case_rows,
        most_bytes=limits.case_bytes,
    ):
        positions = np.arange(start, start + batch.num_rows)
        start += batch.num_rows
        table = pa.table(
            {
                c: convert_column(batch, c, _clock_text if c == wanted[0] else clean_text, name)
                for c in columns
            }
        )
        yield TextBlock(table, positions, positions + 2, batch.num_rows)


def _clock_text(times: pa.Array) -> pa.Array:
    """Return times as text.

    Nanoseconds that are no whole microseconds raise ArrowInvalid.
    """
    naive = pa.types.is_timestamp(times.type) and times.type.tz is None
    return clean_text(times.cast(CLOCK) if naive else times)


def _split_block(block: TextBlock, name: str) -> Block:
    """Split the block into good rows and rejections.

    Only the first fault of a row is reported.
    """
    text = {c: pc.utf8_trim_whitespace(block.columns[c]) for c in block.columns.column_names}
    nothing = pa.chunked_array([pa.repeat("", len(block))])
    kinds = text.get("time_kind", nothing)
    kinds = pc.if_else(pc.equal(kinds, ""), TimeKind.UNKNOWN.value, kinds)
    times, wrong_time = clock_times(text["t"])
    faults = [
        ("t", "not a date and time like 2150-01-31T08:30:00", wrong_time),
        ("event", "the event is empty", pc.equal(text["event"], "")),
        (
            "event",
            f"the event is longer than {LONGEST_EVENT:,} bytes",
            pc.greater(pc.binary_length(text["event"]), LONGEST_EVENT),
        ),
        (
            "time_kind",
            f"not one of {', '.join(TIME_KINDS.to_pylist())}",
            pc.invert(pc.is_in(kinds, TIME_KINDS)),
        ),
        *(
            (c, "the text contains a NUL character", pc.match_substring(column, "\x00"))
            for c, column in text.items()
        ),
    ]
    bad, rejections = _collect_faults(block, faults, name)
    rows = pa.table(
        {
            "row_index": pa.array(block.positions, pa.int32()),
            "time": times,
            "result_time": pa.nulls(len(block), ROWS.field("result_time").type),
            "event": text["event"],
            "value": text["value"],
            "numeric_value": parse_values(text["event"], text["value"]),
            "unit": text.get("unit", nothing),
            "source": text.get("source", nothing),
            "time_kind": kinds,
        },
        schema=ROWS,
    )
    invalid_times = sum(1 for r in rejections if r.field == "t")
    rows = rows.filter(pa.array(~bad)) if bad.any() else rows
    return Block(
        rows, block.lines[~bad], block.offered, (*block.rejections, *rejections), invalid_times
    )


def _collect_faults(
    block: TextBlock, faults: list[tuple[str, str, pa.ChunkedArray]], name: str
) -> tuple[np.ndarray, list[Rejection]]:
    """(mask of the bad rows, one rejection each)."""
    bad = np.zeros(len(block), bool)
    rejections: list[tuple[int, Rejection]] = []
    for column, reason, mask in faults:
        for i in np.flatnonzero(mask.to_numpy() & ~bad).tolist():
            raw = ",".join(str(c[i].as_py()) for c in block.columns.columns).replace("\x00", "\\0")
            rejections.append(
                (i, Rejection(name, reason, block.line(i), column, raw[:RAW_CHARACTERS]))
            )
            bad[i] = True
    return bad, [rejection for _, rejection in sorted(rejections, key=lambda pair: pair[0])]
