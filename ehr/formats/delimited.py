"""CSV files, gzipped or not, as blocks of text columns.

Memory stays flat, there is no loop over rows, and every row has its line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ehr.formats.base import RAW_CHARACTERS, Rejection, WrongFile
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.records import BOM, Ints, Records, read_records

BLOCK_BYTES = 8 << 20
HEADER_BYTES = 64 << 10


@dataclass(frozen=True)
class TextBlock:
    """Some rows of a file as text without nulls.

    `positions` are the 0-based places of the rows in the file, `lines` the lines on which they
    begin (the header is line 1). `rejections` are the rows with too many or too few fields, which
    also count as places; `offered` counts both. Blank lines are no rows.
    """

    columns: pa.Table
    positions: Ints
    lines: Ints
    offered: int
    rejections: tuple[Rejection, ...] = ()
    #: False if no byte of the block is NUL.
    nul: bool = True

    def __len__(self) -> int:
        return len(self.positions)

    def line(self, i: int) -> int:
        """The line on which row i of the block begins."""
        return int(self.lines[i])


@dataclass(frozen=True)
class _Header:
    """The columns of a file.

    `names` are all columns, unusable ones under names of our own; `wanted` are the columns to read.
    """

    names: list[str]
    wanted: list[str]
    unknown: tuple[Rejection, ...]


def read_csv_blocks(
    path: Path,
    name: str,
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    limits: Limits = DEFAULT_LIMITS,
    most_bytes: int | None = None,
    closed: bool = False,
) -> Iterator[TextBlock]:
    """Yield the named columns of the file in blocks (at least one).

    A missing optional column is left out. `name` is the file's name in rejections. `closed`: no
    other columns are expected, so that each is rejected. Raises WrongFile: no such file, a required
    column missing, not UTF-8, broken quoting, damaged compression, too large.
    """
    try:
        records = read_records(path, name, limits, block_bytes=BLOCK_BYTES, most_bytes=most_bytes)
        first = next(records, None)
        if first is None or not len(first):
            raise WrongFile(Rejection(name, "the file is empty; a header was expected", 1))
        header = _header(first, name, required, optional, closed=closed)
        position = 0
        for number, block in enumerate(_chain(first, records)):
            text = _parse(block, header, name, position, skip=1 if number == 0 else 0)
            position += text.offered
            yield text
    except (pa.ArrowException, csv.Error, OSError, EOFError, ValueError) as error:
        if isinstance(error, WrongFile):
            raise
        raise WrongFile(Rejection(name, _describe_error(error))) from error


def header_names(path: Path) -> frozenset[str]:
    """Return the columns that the file names, none if it is unreadable."""
    with suppress(pa.ArrowException, csv.Error, OSError, EOFError, ValueError):
        for first in read_records(path, "", DEFAULT_LIMITS, block_bytes=HEADER_BYTES):
            text = first.text(0) if len(first) else ""
            return frozenset(
                column.strip()
                for row in csv.reader(io.StringIO(text, newline=""))
                for column in row
            )
    return frozenset()


def _chain(first: Records, others: Iterator[Records]) -> Iterator[Records]:
    yield first
    yield from others


def _parse(block: Records, header: _Header, name: str, position: int, *, skip: int) -> TextBlock:
    """Return the block's records after the first `skip` as columns.

    Records of another width become rejections.
    """
    odd = 0

    def skip_odd(_: pacsv.InvalidRow) -> str:
        nonlocal odd
        odd += 1
        return "skip"

    table = pa.table({column: pa.array([], pa.string()) for column in header.wanted})
    if len(block) > skip:
        data: bytes | memoryview = block.data[block.starts[skip] :]
        # Arrow removes a byte order mark, which is text of a field here.
        data = BOM + bytes(data) if data[: len(BOM)] == BOM else data
        table = pacsv.read_csv(
            pa.py_buffer(data),
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=header.names
            ),
            parse_options=pacsv.ParseOptions(
                newlines_in_values=len(block.quotes) > 0, invalid_row_handler=skip_odd
            ),
            convert_options=pacsv.ConvertOptions(
                include_columns=header.wanted,
                column_types=dict.fromkeys(header.wanted, pa.string()),
                strings_can_be_null=False,
            ),
        )
    widths = block.fields() if odd else np.full(len(block), len(header.names))
    widths[:skip] = len(header.names)
    kept = np.flatnonzero(widths == len(header.names))[skip:]
    if len(kept) != len(table):
        raise WrongFile(
            Rejection(name, "the rows of the file cannot be separated", int(block.lines[0]))
        )
    rejections = [
        _reject_record(block, i, int(widths[i]), header, name)
        for i in np.flatnonzero(widths != len(header.names)).tolist()
    ]
    return TextBlock(
        columns=table,
        positions=position + kept - skip,
        lines=block.lines[kept],
        offered=len(block) - skip,
        rejections=(*(header.unknown if skip else ()), *rejections),
        nul=not np.frombuffer(block.data, np.uint8).all(),
    )


def _reject_record(block: Records, i: int, width: int, header: _Header, name: str) -> Rejection:
    reason = f"{width} fields where the header has {len(header.names)}"
    return Rejection(name, reason, int(block.lines[i]), raw=block.text(i)[:RAW_CHARACTERS])


def _header(
    first: Records, name: str, required: Sequence[str], optional: Sequence[str], *, closed: bool
) -> _Header:
    """Return the columns that the first record names.

    Raises WrongFile if a required column is missing or a wanted one appears twice.
    """
    text, line = first.text(0), int(first.lines[0])
    columns = [
        column.strip() for column in next(csv.reader(io.StringIO(text, newline=""), strict=True))
    ]
    for column in required:
        if column not in columns:
            raise WrongFile(
                Rejection(
                    name,
                    f"the column {column} is missing in the header",
                    line,
                    column,
                    text[:RAW_CHARACTERS],
                )
            )
    wanted = [column for column in (*required, *optional) if column in columns]
    twice = next((column for column in wanted if columns.count(column) > 1), None)
    if twice is not None:
        raise WrongFile(
            Rejection(name, f"the column {twice} appears twice in the header", line, twice)
        )
    names = [column if column in wanted else f"\0{i}" for i, column in enumerate(columns)]
    unknown = (
        [i for i, column in enumerate(columns, start=1) if column not in wanted] if closed else []
    )
    rejections = (reject_unknown(name, unknown, line),) if unknown else ()
    return _Header(names, wanted, rejections)


def reject_unknown(name: str, places: Sequence[int], line: int = 1) -> Rejection:
    """Return a rejection of columns, given by their places from 1."""
    first = f"the first is column {places[0]}"
    reason = f"unknown columns in the header, not read: {len(places)}; {first}"
    return Rejection(name, reason, line)


def _describe_error(error: Exception) -> str:
    """Why the file is unusable, without quoting it."""
    if isinstance(error, FileNotFoundError):
        return "the file is missing"
    text = str(error).lower()
    if isinstance(error, EOFError) or any(
        word in text for word in ("compress", "zlib", "gzip", "truncated")
    ):
        return "the compressed file is damaged or cut short"
    return "the file cannot be read as CSV"
