"""Read stored rows back into columns.

The query returns one row for each encounter, with each column packed into bytes; there is no Python
loop over rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import psycopg
import pyarrow as pa
from django.db import connection
from numpy.typing import NDArray

from ehr.schema import CLOCK

Ints = NDArray[np.int64]

TEXTS = ("event", "value", "unit")
#: PostgreSQL counts microseconds from 2000 and sends an infinite timestamp as the largest integer.
EPOCH = int(np.datetime64("2000-01-01", "us").astype(np.int64))
NO_TIME = np.iinfo(np.int64).max
PACKED = """
    SELECT encounter_id, count(*),
        string_agg(int4send(row_index), ''::bytea ORDER BY row_index),
        string_agg(timestamp_send(coalesce(time, 'infinity')), ''::bytea ORDER BY row_index),
        string_agg(float8send(coalesce(numeric_value, 'NaN')), ''::bytea ORDER BY row_index),
        string_agg(int4send(octet_length(event)), ''::bytea ORDER BY row_index), string_agg(event, '' ORDER BY row_index),
        string_agg(int4send(octet_length(value)), ''::bytea ORDER BY row_index), string_agg(value, '' ORDER BY row_index),
        string_agg(int4send(octet_length(unit)), ''::bytea ORDER BY row_index), string_agg(unit, '' ORDER BY row_index)
    FROM ehr_sourcerow WHERE dataset_id = %s AND encounter_id = ANY(%s) GROUP BY encounter_id ORDER BY encounter_id
"""


def read_rows(dataset_id: int, encounter_ids: Sequence[int]) -> tuple[pa.Table, Ints]:
    """Return the columns for series, and the encounter of each row.

    The columns are `row_index`, `time`, `event`, `value`, `numeric_value`, `unit`, as in
    `ehr.schema.ROWS`, in order of encounter and row index.
    """
    connection.ensure_connection()
    # Django's own cursor fills parameters in on the client, which excludes binary results.
    with psycopg.Cursor(connection.connection) as cursor:
        found = cursor.execute(PACKED, [dataset_id, list(encounter_ids)], binary=True).fetchall()
    ids, counts, indices, times, numbers, *texts = zip(*found, strict=True) if found else [()] * 11
    micro = _unpack_numbers(times, ">i8")
    timed = micro != NO_TIME
    columns = {
        "row_index": pa.array(_unpack_numbers(indices, ">i4"), pa.int32()),
        "time": (
            pa.array(np.where(timed, micro + np.where(timed, EPOCH, 0), 0), mask=~timed).cast(CLOCK)
        ),
        "numeric_value": pa.array(_unpack_numbers(numbers, ">f8"), pa.float64(), from_pandas=True),
    }
    for i, name in enumerate(TEXTS):
        columns[name] = _cut_texts(_unpack_numbers(texts[2 * i], ">i4"), texts[2 * i + 1])
    return pa.table(columns), np.repeat(np.array(ids, np.int64), np.array(counts, np.int64))


def _unpack_numbers(parts: Sequence[bytes], dtype: str) -> NDArray[np.generic]:
    """The numbers of all parts in the machine's byte order."""
    packed = np.frombuffer(b"".join(parts), dtype)
    return packed.astype(packed.dtype.newbyteorder("="))


def _cut_texts(lengths: NDArray[np.generic], parts: Sequence[str]) -> pa.Array:
    """Texts of the given lengths in bytes, cut from the joined parts."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    joined = "".join(parts).encode("utf-8")
    return pa.LargeStringArray.from_buffers(
        len(lengths), pa.py_buffer(offsets), pa.py_buffer(joined)
    ).cast(pa.string())
