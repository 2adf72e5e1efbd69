"""Read Parquet files as checked batches; any damage becomes a WrongFile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ehr.formats.base import Rejection, WrongFile

#: Exceptions that Arrow raises for damaged files, as tried with mutated ones.
UNREADABLE = (
    pa.ArrowException,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OverflowError,
    MemoryError,
)
#: Most text of one batch after its dictionary is written out: a few kilobytes of file can expand to
#: any size.
LONGEST_BATCH = 512 << 20


def column_names(path: Path, name: str) -> list[str]:
    """The names of the file's columns. Raises WrongFile."""
    return list(_schema(path, name).names)


def read_batches(
    path: Path, name: str, columns: Sequence[str], rows: int, *, most_rows: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the columns, `rows` rows at a time, with each value checked.

    The check includes UTF-8. Raises WrongFile, also for an ambiguous column.
    """
    schema = _schema(path, name)
    for column in columns:
        if schema.names.count(column) > 1:
            raise WrongFile(Rejection(name, f"the column {column} appears twice", field=column))
    texts = [
        c
        for c in columns
        if pa.types.is_string(schema.field(c).type)
        or pa.types.is_large_string(schema.field(c).type)
    ]
    try:
        file = pq.ParquetFile(path, read_dictionary=texts, page_checksum_verification=True)
        if most_rows is not None and file.metadata.num_rows > most_rows:
            raise WrongFile(
                Rejection(name, f"the file has more than {most_rows:,} rows (IMPORT_CASE_ROWS)")
            )
        for batch in file.iter_batches(rows, columns=list(columns)):
            batch.validate(full=True)
            _check_size(batch, name)
            yield batch
    except WrongFile:
        raise
    except UNREADABLE as error:
        raise _wrong(error, name) from None


def convert_column(
    batch: pa.RecordBatch, column: str, convert: Callable[[pa.Array], pa.Array], name: str
) -> pa.Array:
    """Return `convert(column)`.

    Raises WrongFile with the column's name if its type or a value cannot be converted.
    """
    try:
        values = batch.column(column)
        return convert(
            values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        )
    except UNREADABLE:
        raise WrongFile(
            Rejection(name, f"the values of the column {column} are of another type", field=column)
        ) from None


def _schema(path: Path, name: str) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except UNREADABLE as error:
        raise _wrong(error, name) from None


def _check_size(batch: pa.RecordBatch, name: str) -> None:
    total = 0
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            total += pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    if total > LONGEST_BATCH:
        raise WrongFile(
            Rejection(
                name, f"the text of {len(batch):,} rows is longer than {LONGEST_BATCH >> 20} MB"
            )
        )


def _wrong(error: BaseException, name: str) -> WrongFile:
    reason = (
        "the file is missing"
        if isinstance(error, FileNotFoundError)
        else "the file is damaged or is no Parquet file"
    )
    return WrongFile(Rejection(name, reason))
