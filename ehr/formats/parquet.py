"""Read Parquet files as checked batches; any damage becomes a WrongFile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ehr.formats.base import Rejection, WrongFile
from ehr.formats.limits import Limits

DAMAGED = "the file is damaged or is no Parquet file"
Ints = NDArray[np.int64]
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
#: About how much text a batch has after its dictionary is written out.
BATCH_BYTES = 64 << 20


def column_names(path: Path, name: str) -> list[str]:
    """The names of the file's columns. Raises WrongFile."""
    return list(_schema(path, name).names)


def read_batches(
    path: Path,
    name: str,
    columns: Sequence[str],
    rows: int,
    limits: Limits,
    *,
    most_rows: int | None = None,
    most_bytes: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the columns, at most `rows` rows at a time, every value checked.

    The check includes UTF-8. Raises WrongFile, also for an ambiguous column and for too many bytes:
    first by the sizes that the file states, then by what was read. A few kilobytes of dictionary
    can state any size of text.
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
        size, total, count = path.stat().st_size, 0, 0
        _check_size(_stated_bytes(file.metadata), size, most_bytes, limits, name)
        for batch in file.iter_batches(rows, columns=list(columns)):
            batch.validate(full=True)
            count += len(batch)
            ends = np.cumsum(_row_bytes(batch))
            total += int(ends[-1]) if len(ends) else 0
            _check_size(total, size, most_bytes, limits, name)
            starts = np.flatnonzero(np.diff(ends // BATCH_BYTES, prepend=-1)).tolist()
            for start, stop in pairwise([*starts, len(batch)]):
                yield batch.slice(start, stop - start)
        # Arrow ends without an error where a damaged column is shorter than the others.
        if count != file.metadata.num_rows:
            raise WrongFile(Rejection(name, DAMAGED))
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


def _check_size(
    read: int, file_bytes: int, most_bytes: int | None, limits: Limits, name: str
) -> None:
    if reason := limits.find_excess(read, file_bytes, most_bytes):
        raise WrongFile(Rejection(name, reason))


def _stated_bytes(metadata: pq.FileMetaData) -> int:
    """Return the uncompressed size of the file, as it states it.

    Sizes of single columns are not asked for: on damaged ones Arrow ends the process.
    """
    groups = range(metadata.num_row_groups)
    return sum(metadata.row_group(i).total_byte_size for i in groups)


def _row_bytes(batch: pa.RecordBatch) -> Ints:
    """Return the size of each row with its texts written out."""
    sizes = np.zeros(len(batch), np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            sizes += pc.fill_null(lengths, 0).cast(pa.int64()).to_numpy()
        elif len(batch):
            sizes += -(-column.nbytes // len(batch))
    return sizes


def _wrong(error: BaseException, name: str) -> WrongFile:
    reason = "the file is missing" if isinstance(error, FileNotFoundError) else DAMAGED
    return WrongFile(Rejection(name, reason))
