"""Rows of the record for tests, as a clinician would list them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pyarrow as pa

from ehr.formats.columns import parse_numbers
from ehr.schema import ROWS

ADMITTED = datetime(2150, 1, 1, 8)


def make_time(hours: float) -> datetime:
    """Hours from 2150-01-01 08:00."""
    return ADMITTED + timedelta(hours=hours)


def table(
    rows: Sequence[tuple[float | None, str, str] | tuple[float | None, str, str, str]],
) -> pa.Table:
    """Return columns of `ehr.schema.ROWS` for readable rows.

    A row is (hours or None, event, value[, unit]); row indices are positions.
    """
    times = pa.array([None if r[0] is None else make_time(r[0]) for r in rows], pa.timestamp("us"))
    values = pa.array([r[2] for r in rows], pa.string())
    return pa.table(
        {
            "row_index": pa.array(range(len(rows)), pa.int32()),
            "time": times,
            "result_time": pa.nulls(len(rows), pa.timestamp("us")),
            "event": pa.array([r[1] for r in rows], pa.string()),
            "value": values,
            "numeric_value": parse_numbers(values),
            "unit": pa.array([r[3] if len(r) > 3 else "" for r in rows], pa.string()),
            "source": pa.array(["test"] * len(rows), pa.string()),
            "time_kind": pa.array(["charted"] * len(rows), pa.string()),
        },
        schema=ROWS,
    )
