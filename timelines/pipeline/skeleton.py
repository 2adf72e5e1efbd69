"""The skeleton of a stay: the rows that say where the patient was.

Emergency department, admission, transfers, services, operating room, ventilation, discharge, death
(protocol section 2, stage 5). Revision always sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from timelines.domain import SourceRow, TimeKind

#: Rows of a skeleton at most: a stay has few, and a record may chart ventilation every hour.
MOST_ROWS = 60
#: Rows of one series at most; the first ones, of a series that ends the stay the last ones.
MOST_OF_SERIES = 12
_PLACES = re.compile(r"(?:admission|transfer|icu|services?|encounter|visit|discharge|death)\b")
_ENDS = re.compile(r"\b(?:discharge|death)\b|^(?:encounter|visit):end\b")
_ACT = r"(?:procedure|event|order|chart)\b.*\b"
_OPERATING_ROOM = re.compile(_ACT + r"(?:operating room|or (?:received|sent))")
_VENTILATION = re.compile(
    _ACT + r"(?:intubat\w*|extubat\w*|(?:invasive|mechanical|non-?invasive) ventilation)"
)


class _Need(IntEnum):
    """Which rows come first if a stay has more than the skeleton may have."""

    END = 0
    PLACE = 1
    VENTILATION = 2


def select_skeleton(
    rows_of: Mapping[str, Sequence[SourceRow]], latest: float | None
) -> tuple[SourceRow, ...]:
    """Return the skeleton's rows in order of time.

    `rows_of` maps event → its rows; rows later than `latest` (hours) and repetitions of the same
    event, value and hour are left out. Discharge and death come first, then the other places, and
    ventilation fills the rest.
    """
    chosen: list[tuple[_Need, SourceRow]] = []
    for event in sorted(rows_of):
        need = _need(event.lower(), rows_of[event])
        if need is not None:
            rows = _distinct(rows_of[event], latest)
            rows = rows[-MOST_OF_SERIES:] if need is _Need.END else rows[:MOST_OF_SERIES]
            chosen += [(need, row) for row in rows]
    chosen.sort(key=lambda c: (c[0], *_moment(c[1])))
    return tuple(sorted((row for _, row in chosen[:MOST_ROWS]), key=_moment))


def _need(event: str, rows: Sequence[SourceRow]) -> _Need | None:
    """Return how much a stay needs the series, None if it is no part."""
    where = (TimeKind.ADMINISTRATIVE, TimeKind.UNKNOWN)
    if _PLACES.match(event) and any(r.time_kind in where for r in rows):
        return _Need.END if _ENDS.search(event) else _Need.PLACE
    if _OPERATING_ROOM.match(event):
        return _Need.PLACE
    return _Need.VENTILATION if _VENTILATION.match(event) else None


def _moment(row: SourceRow) -> tuple[float, int]:
    return (row.time or 0.0, row.row_index)


def _distinct(rows: Iterable[SourceRow], latest: float | None) -> list[SourceRow]:
    seen: dict[tuple[float, str], SourceRow] = {}
    for row in sorted(rows, key=lambda r: (r.time is None, r.time, r.row_index)):
        if row.time is not None and (latest is None or row.time <= latest):
            seen.setdefault((row.time, row.value), row)
    return list(seen.values())
