"""CSV files, gzipped or not, as blocks of text columns: memory stays flat, no loop over rows, and every row knows its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from ehr.formats.base import Rejection

BLOCK_BYTES = 8 << 20
RAW_CHARACTERS = 500


class WrongFile(ValueError):
    """A file as a whole is unusable; carries the rejection that says why."""

    log_safe = True

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.reason)
        self.rejection = rejection


@dataclass(frozen=True)
class TextBlock:
    """Some rows of a file as text without nulls. `positions` are their 0-based places among the file's rows, `rejections` the
    rows with too many or too few fields (they keep their place). Blank lines are no rows, and lines after one count it not."""

    columns: pa.Table
    positions: NDArray[np.int64]
    records: NDArray[np.int64]
    breaks_before: int
    rejections: tuple[Rejection, ...] = ()

    def __len__(self) -> int:
        return len(self.positions)

    def line(self, i: int) -> int:
        """The line on which row i of the block begins; the header is line 1."""
        return self.line_of(int(self.records[i]))

    def line_of(self, record: int) -> int:
        """The line on which a record begins that stands in or right after the block."""
        return record + self.breaks_before + int(self._breaks[self.records < record].sum())

    @property
    def breaks(self) -> int:
        """Line breaks inside the block's values."""
        return int(self._breaks.sum())

    @cached_property
    def _breaks(self) -> NDArray[np.int64]:
        total = np.zeros(len(self), np.int64)
        for column in self.columns.columns:
            total += pc.count_substring(column, "\n").to_numpy()
        return total


def read_csv_blocks(path: Path, name: str, required: Sequence[str], optional: Sequence[str] = ()) -> Iterator[TextBlock]:
    """The named columns of the file, block by block; an optional column that is missing is left out.

    `name` is how rejections call the file. Raises WrongFile: no such file, a required column missing, not UTF-8, broken quoting,
    truncated compression.
    """
    odd: list[pacsv.InvalidRow] = []

    def keep_odd(row: pacsv.InvalidRow) -> str:
        odd.append(row)
        return "skip"

    try:
        columns = _header(path, name, required)
        wanted = [c for c in (*required, *optional) if c in columns]
        with pacsv.open_csv(
            path,
            read_options=pacsv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=columns, skip_rows=1),
            parse_options=pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=keep_odd),
            convert_options=pacsv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False
            ),
        ) as reader:
            yield from _numbered(reader, odd, name)
    except (pa.ArrowInvalid, OSError, EOFError, UnicodeDecodeError) as error:
        raise WrongFile(Rejection(name, _words_for(error))) from error


def _numbered(reader: pacsv.CSVStreamingReader, odd: list[pacsv.InvalidRow], name: str) -> Iterator[TextBlock]:
    """Give each row its record number (the header is record 1), skipping those the parser set aside."""
    following, breaks, told = 2, 0, 0
    for batch in reader:
        skipped = np.array([row.number for row in odd], np.int64)
        ahead = int((skipped >= following).sum())
        records = np.setdiff1d(np.arange(following, following + batch.num_rows + ahead), skipped)[: batch.num_rows]
        block = TextBlock(pa.Table.from_batches([batch]), records - 2, records, breaks)
        yield replace(block, rejections=tuple(_ragged(row, block, name) for row in odd[told:]))
        told = len(odd)
        following = int(records[-1]) + 1 if len(records) else following
        breaks += block.breaks
    if odd[told:]:
        nothing = np.zeros(0, np.int64)
        empty = TextBlock(reader.schema.empty_table(), nothing, nothing, breaks)
        yield replace(empty, rejections=tuple(_ragged(row, empty, name) for row in odd[told:]))


def _ragged(row: pacsv.InvalidRow, block: TextBlock, name: str) -> Rejection:
    line = block.line_of(row.number)
    return Rejection(name, f"{row.actual_columns} fields where the header has {row.expected_columns}", line, raw=_cut(row.text))


def _header(path: Path, name: str, required: Sequence[str]) -> list[str]:
    """The column names. Raises WrongFile where a required one is missing or one stands twice."""
    with pa.input_stream(str(path), compression="detect") as stream:
        first = stream.read(64 << 10).split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    columns = [column.strip().strip('"') for column in first.split(",")]
    for column in required:
        if column not in columns:
            raise WrongFile(Rejection(name, f"the column {column} is missing in the header", 1, column, _cut(first)))
    if len(set(columns)) != len(columns):
        raise WrongFile(Rejection(name, "a column stands twice in the header", 1))
    return columns


def _cut(text: str) -> str:
    return text[:RAW_CHARACTERS]


def _words_for(error: Exception) -> str:
    """Why the file is unusable, without quoting it."""
    if isinstance(error, FileNotFoundError):
        return "the file is missing"
    text = str(error).lower()
    if "utf8" in text or "utf-8" in text:
        return "the file is not UTF-8"
    if "compress" in text or "zlib" in text or "gzip" in text or "truncated" in text:
        return "the compressed file is damaged or cut short"
    if "straddling" in text:
        return f"a row is longer than {BLOCK_BYTES >> 20} MB, or a quotation mark is never closed"
    return "the file cannot be read as CSV"
