"""Read `CONCEPT.csv` as Athena delivers it: columns separated by tabs.

Its names may have loose quotation marks, so a mark is a character like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ehr.formats.base import Rejection, WrongFile, describe_packing, safe_name
from ehr.formats.delimited import HEADER_BYTES, TextBlock
from ehr.formats.limits import Limits


def has_tabs(path: Path) -> bool:
    """Return True for a CSV file whose header has tabs and no comma."""
    return "\t" in (header := _read_header(path)) and "," not in header


def _read_header(path: Path) -> str:
    """Return the first line, "" for a file that is not read here."""
    if path.suffix.lower() == ".parquet":
        return ""
    try:
        with _open(path) as stream:
            first = stream.read(HEADER_BYTES).split(b"\n")[0]
        return str(first.decode().strip("\ufeff\r"))
    except (pa.ArrowException, OSError, EOFError, ValueError):
        return ""


def _open(path: Path) -> pa.NativeFile:
    return pa.input_stream(path, compression="gzip" if path.suffix.lower() == ".gz" else None)


def read_tab_blocks(path: Path, columns: Sequence[str], limits: Limits) -> Iterator[TextBlock]:
    """Yield blocks with the columns.

    Raises WrongFile at the first faulty line.
    """
    name = safe_name(path)
    if reason := describe_packing(path):
        raise WrongFile(Rejection(name, reason))
    faulty: list[int] = []

    def stop(row: pacsv.InvalidRow) -> str:
        faulty.append(row.number)
        return "error"

    actual = {column.strip().lower(): column for column in _read_header(path).split("\t")}
    wanted = [actual.get(column, column) for column in columns]
    start = read = 0
    try:
        with (
            _open(path) as stream,
            pacsv.open_csv(
                stream,
                pacsv.ReadOptions(use_threads=False),
                pacsv.ParseOptions(
                    delimiter="\t",
                    quote_char=False,
                    ignore_empty_lines=False,
                    invalid_row_handler=stop,
                ),
                pacsv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pa.string()),
                    strings_can_be_null=False,
                ),
            ) as batches,
        ):
            for batch in batches:
                read += batch.nbytes
                if reason := limits.find_excess(read, path.stat().st_size, None):
                    raise WrongFile(Rejection(name, reason))
                at = np.arange(start, start + len(batch))
                start += len(batch)
                table = pa.Table.from_batches([batch]).rename_columns(list(columns))
                yield TextBlock(table, at, at + 2, len(batch))
    except (pa.ArrowException, OSError, EOFError, ValueError, KeyError) as error:
        if isinstance(error, WrongFile):
            raise
        line = faulty[0] if faulty else None
        reason = "the file cannot be read as a table of concepts separated by tabs"
        raise WrongFile(Rejection(name, reason, line)) from error
