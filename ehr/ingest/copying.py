"""Write columns into tables with COPY.

Arrow turns whole blocks into CSV; there is no Python loop over rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from django.db import connection
from numpy.typing import NDArray
from psycopg import sql

from ehr.presentation.rendering import retrieval_text
from ehr.schema import ROWS
from ehr.summarise import Series

PIECE_ROWS = 20_000
ROW_TABLE = "ehr_sourcerow"
SERIES_TABLE = "ehr_eventseries"
SERIES = pa.schema(
    [
        ("encounter_id", pa.int64()),
        ("event", pa.string()),
        ("summary", pa.string()),
        ("row_indices", pa.string()),
        ("count", pa.int32()),
        ("first", pa.timestamp("us")),
        ("last", pa.timestamp("us")),
        ("priority", pa.int16()),
    ]
)


def copy_rows(rows: pa.Table, *, dataset_id: int, encounter_ids: int | NDArray[np.int64]) -> int:
    """Append rows (`ehr.schema.ROWS`) of encounters; return how many.

    `encounter_ids` is one encounter, or one for each row. The partition must exist.
    """
    count = len(rows)
    encounters = (
        pa.repeat(encounter_ids, count)
        if isinstance(encounter_ids, int)
        else pa.array(encounter_ids)
    )
    owned = rows.select(ROWS.names).add_column(0, "encounter_id", encounters.cast(pa.int64()))
    copy_table(
        ROW_TABLE, owned.add_column(0, "dataset_id", pa.repeat(dataset_id, count).cast(pa.int64()))
    )
    return count


def copy_series(series: Iterable[Series], encounter_ids: Sequence[int] | NDArray[np.int64]) -> int:
    """Append series with their retrieval texts; return how many.

    `encounter_ids[series.group]` is the encounter.
    """
    records = [
        (
            int(encounter_ids[s.group]),
            s.event,
            retrieval_text(s),
            "{" + ",".join(map(str, s.row_indices)) + "}",
            s.count,
            s.first.time if s.first else None,
            s.last.time if s.last else None,
            s.priority,
        )
        for s in series
    ]
    columns = list(zip(*records, strict=True)) or [()] * len(SERIES)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SERIES, strict=True)]
    copy_table(SERIES_TABLE, pa.table(arrays, schema=SERIES))
    return len(records)


def copy_table(name: str, table: pa.Table) -> None:
    """COPY the table's columns into the database table.

    It runs inside the current transaction. Null is null, "" is the empty text.
    """
    if not len(table):
        return
    statement = sql.SQL("COPY {table} ({columns}) FROM STDIN (FORMAT csv)").format(
        table=sql.Identifier(name),
        columns=sql.SQL(", ").join(map(sql.Identifier, table.column_names)),
    )
    options = pacsv.WriteOptions(include_header=False, batch_size=PIECE_ROWS)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for start in range(0, len(table), PIECE_ROWS):
            piece = pa.BufferOutputStream()
            pacsv.write_csv(table.slice(start, PIECE_ROWS), piece, options)
            copy.write(piece.getvalue())
