"""Read clock times of the CDM.

Each has two columns, a date and a datetime. One rule: the datetime counts; without it, the date is
the beginning of its day, and the row's unit says "date only". Only the end of a stay is the end of
its day.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.columns import Text, clock_times, first_present

DAY_CHARACTERS = 10


def read_times(columns: Mapping[str, Text], beginning: str) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return (times, wrong, days) of the columns with this beginning.

    `times` are null for no time and for an unusable one (`wrong`); `days` have no hour.
    """
    clock = columns[f"{beginning}_datetime"]
    text = first_present(clock, columns[f"{beginning}_date"])
    times, wrong = clock_times(text)
    days = pc.equal(pc.utf8_length(text), DAY_CHARACTERS)
    return to_array(times), to_array(wrong), to_array(days)


def to_array(values: Text) -> pa.Array:
    """Return the values as one array."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
