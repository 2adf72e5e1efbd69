"""The skeleton of a stay: the rows that say where the patient was.

Emergency department, admission, transfers, services, operating room, ventilation, discharge
(protocol section 2, stage 5). Revision always sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from timelines.domain import SourceRow, TimeKind

#: Rows of a skeleton at most: a stay has few, and a record may chart ventilation every hour.
MOST_ROWS = 60
#: Rows of one series at most; the first ones.
MOST_OF_SERIES = 12
_PLACES = re.compile(r"(?:admission|transfer|icu|services?|encounter|visit|discharge)\b")
_ACTS = re.compile(
    r"(?:procedure|event|order|chart)\b.*\b(?:operating room|or (?:received|sent)|intubat\w*|extubat\w*"
    r"|(?:invasive|mechanical|non-?invasive) ventilation)"
)


def select_skeleton(
    rows_of: Mapping[str, Sequence[SourceRow]], latest: float | None
) -> tuple[SourceRow, ...]:
    """Return the skeleton's rows in order of time.

    `rows_of` maps event → its rows; rows later than `latest` (hours) and repetitions of the same
    event, value and hour are left out.
    """
    chosen: list[SourceRow] = []
    for event in sorted(rows_of):
        if _is_place(event, rows_of[event]) or _ACTS.match(event.lower()):
            chosen += _distinct(rows_of[event], latest)[:MOST_OF_SERIES]
    return tuple(sorted(chosen, key=lambda r: (r.time or 0.0, r.row_index))[:MOST_ROWS])


def _is_place(event: str, rows: Sequence[SourceRow]) -> bool:
    return bool(_PLACES.match(event.lower())) and any(
        r.time_kind in (TimeKind.ADMINISTRATIVE, TimeKind.UNKNOWN) for r in rows
    )


def _distinct(rows: Iterable[SourceRow], latest: float | None) -> list[SourceRow]:
    seen: dict[tuple[float, str], SourceRow] = {}
    for row in sorted(rows, key=lambda r: (r.time is None, r.time, r.row_index)):
        if row.time is not None and (latest is None or row.time <= latest):
            seen.setdefault((row.time, row.value), row)
    return list(seen.values())
