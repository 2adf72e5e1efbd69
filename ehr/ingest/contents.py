"""What stays consist of, as numbers to be compared.

Each row and note becomes a number, and a stay is their sum: their order does not matter. The
numbers are Python's own hashes. They differ between processes and are never stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from django.db import connection
from psycopg import sql

from ehr.formats.stream import Ints
from ehr.models import Note
from ehr.schema import ROWS

#: The place of a row in its stay is no part of what it says.
COLUMNS = tuple(field.name for field in ROWS if field.name != "row_index")
CLOCKS = ("time", "result_time")
TYPES = {
    field.name: pa.int64() if field.name in CLOCKS else field.type
    for field in ROWS
    if field.name in COLUMNS
}
#: No stored text has this character.
BETWEEN = "\x00"
STORED = sql.SQL("""
    COPY (
        SELECT encounter_id, event, value, numeric_value, unit, source, time_kind,
            (extract(epoch FROM time) * 1000000)::bigint AS time,
            (extract(epoch FROM result_time) * 1000000)::bigint AS result_time
        FROM ehr_sourcerow WHERE dataset_id = {dataset} AND encounter_id = ANY({encounters})
    ) TO STDOUT (FORMAT csv, HEADER)
""")


class Contents:
    """The sums of some stays, which are numbered from 0."""

    def __init__(self, stays: int) -> None:
        self._sums = np.zeros(stays, np.uint64)
        self._notes: set[tuple[int, str]] = set()

    def add_rows(self, rows: pa.Table, places: Ints) -> None:
        """Add rows to the stays at these places."""
        np.add.at(self._sums, places, _hash_rows(rows))

    def add_note(self, place: int, note: Note) -> None:
        """Add a note, unless the stay has its text already."""
        if (place, note.sha256) not in self._notes:
            self._notes.add((place, note.sha256))
            said = hash((note.kind, note.sha256, note.charted_at))
            np.add.at(self._sums, [place], np.array([said], np.int64).view(np.uint64))

    def is_equal(self, other: Contents, place: int) -> bool:
        """Return True if the stay is the same in both."""
        return bool(self._sums[place] == other._sums[place])


def read_stored(dataset_id: int, encounter_ids: Sequence[int]) -> tuple[pa.Table, Ints]:
    """Return all columns of stored rows, and the encounter of each row.

    Times are microseconds.
    """
    statement = STORED.format(
        dataset=sql.Literal(dataset_id), encounters=sql.Literal(list(encounter_ids))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        written = b"".join(bytes(piece) for piece in copy)
    table = pacsv.read_csv(
        pa.py_buffer(written),
        # One block, because a long value must not cross the border of two.
        read_options=pacsv.ReadOptions(block_size=len(written) + 1),
        parse_options=pacsv.ParseOptions(newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(
            column_types={"encounter_id": pa.int64(), **TYPES},
            null_values=[""],
            strings_can_be_null=False,
        ),
    )
    return table, table["encounter_id"].to_numpy()


def _hash_rows(rows: pa.Table) -> np.ndarray:
    """Return a number for each row; equal rows have equal numbers."""
    texts = [_as_text(rows[name]) for name in COLUMNS]
    between = pa.scalar(BETWEEN, pa.large_string())
    joined = pc.binary_join_element_wise(*texts, between).to_pylist()
    return np.fromiter(map(hash, joined), np.int64, len(joined)).view(np.uint64)


def _as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as text, "" for null."""
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return pc.fill_null(values.cast(pa.large_string()), "")
