"""Move times that rest on the usual arrival with the recorded one.

"Two hours before arrival" and "in the emergency department" rest on a usual arrival if the note
does not date it. The record often has the registration; such times move with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from timelines.backbones.rules.querying.vocabulary import event_name, vocabulary
from timelines.backbones.rules.timing.anchors.milestones import USUAL_ARRIVAL, USUAL_ARRIVAL_HOUR
from timelines.domain import Entry, SourceRow

#: Hours around admission in which a registration is the arrival of this stay.
_EARLIEST, _LATEST = -24.0, 1.0


def find_arrival_row(rows: Iterable[SourceRow]) -> SourceRow | None:
    """Return the first row of the arrival in the emergency department."""
    arrival = vocabulary().by_name["emergency arrival"]
    found = [
        row
        for row in rows
        if row.time is not None
        and _EARLIEST <= row.time <= _LATEST
        and arrival.matches(event_name(row.event))
    ]
    return min(found, key=lambda row: (row.time or 0.0, row.row_index), default=None)


def move_with_arrival(entry: Entry, row: SourceRow | None) -> Entry | None:
    """Return the entry counted from the recorded arrival.

    None if it does not rest on the usual arrival, or there is no row.
    """
    if row is None or row.time is None or entry.time is None or USUAL_ARRIVAL not in entry.reason:
        return None
    shift = row.time - USUAL_ARRIVAL_HOUR
    time, lower, upper = (
        None if value is None else value + shift for value in (entry.time, entry.lower, entry.upper)
    )
    return replace(
        entry,
        time=time,
        lower=lower,
        upper=upper,
        decided_by="rules: recorded arrival",
        reason=f"no row of its own; counted from the arrival, recorded at {row.time:.1f} h;"
        f" {entry.reason}",
        near_rows=(row.row_index,),
    )
