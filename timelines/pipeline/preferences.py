"""Which rows of a series fit an occurrence best (protocol, stage 5).

In this order: the literal value of the mention; the act that it names (given, ordered, stopped,
collected); the place that it names (first, last, highest, lowest, repeated); nearness to the
text-only bounds and, inside them, to the point; time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from timelines.domain import Entry, SourceRow, TimeKind
from timelines.pipeline.values import split_moment, states_value


class Act(Enum):
    """An act that a mention may name and a row may record."""

    ORDERED = re.compile(r"\b(?:order|prescrib|request)\w*")
    STARTED = re.compile(r"\b(?:re)?(?:start|beg[au]n|begin|initiat|load|commenc)\w*")
    STOPPED = re.compile(
        r"\b(?:stop|discontinu|held|hold|wean|remov|extubat|end(?:ed|ing)\b|complet|off\b)\w*"
    )
    GIVEN = re.compile(r"\b(?:given|gave|receiv|administ|infus|transfus|bolus|hung)\w*")
    COLLECTED = re.compile(r"\b(?:collect|drawn|drew|sent|obtain|sampl)\w*")
    RESULTED = re.compile(r"\b(?:result|return|grew|grow|final)\w*")


def named_acts(mention: str) -> frozenset[Act]:
    """Return the acts that a mention names."""
    words = mention.lower()
    return frozenset(act for act in Act if act.value.search(words))


def records_act(row: SourceRow, acts: frozenset[Act]) -> bool:
    """Return whether the row records one of the acts; True if none is named."""
    return not acts or any(_records(row, act) for act in acts)


def _records(row: SourceRow, act: Act) -> bool:
    moment, order = split_moment(row.event)[1], row.time_kind is TimeKind.ORDER
    ends = moment in ("end", "stop")
    if act is Act.STOPPED:
        return ends
    if act is Act.ORDERED:
        return order and not ends
    if act is Act.COLLECTED:
        return row.time_kind is TimeKind.COLLECTION
    if act is Act.RESULTED:
        return row.time_kind is TimeKind.RESULT
    given = row.time_kind in (TimeKind.ADMINISTRATION, TimeKind.PERFORMED)
    if act is Act.STARTED:
        return not ends and (given or moment == "start")
    return given and not ends


class Place(Enum):
    """A place among like rows that a mention may name."""

    LOWEST = re.compile(r"\b(?:lowest|minim\w+|nadir\w*|trough)\b")
    HIGHEST = re.compile(r"\b(?:highest|maxim\w+|peak\w*|tmax|max)\b")
    LATER = re.compile(
        r"\b(?:repeat\w*|recheck\w*|second|again|restart\w*|resum\w*|subsequent\w*|follow-?up)\b"
    )
    FIRST = re.compile(r"\b(?:first|initial\w*|earliest|presenting|on arrival|on admission)\b")
    LAST = re.compile(r"\b(?:last|final|latest|most recent|at discharge|on discharge)\b")


def named_place(mention: str) -> Place | None:
    """Return the place that a mention names, None if it names none."""
    words = mention.lower()
    return next((place for place in Place if place.value.search(words)), None)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the rows of one occurrence are compared with."""

    mention: str
    entry: Entry
    acts: frozenset[Act]
    place: Place | None

    @classmethod
    def of(cls, mention: str, entry: Entry) -> Wanted:
        """Read a mention once for all rows."""
        return cls(mention, entry, named_acts(mention), named_place(mention))

    def states_value_of(self, row: SourceRow) -> bool:
        """Return whether the mention states the row's value."""
        return states_value(self.mention, row.value)

    def order_rows(self, rows: Sequence[SourceRow]) -> list[SourceRow]:
        """Return the timed rows of one series, the best first."""
        timed = sorted((r for r in rows if r.time is not None), key=lambda r: (r.time, r.row_index))
        places = self._places(timed)

        def key(row: SourceRow) -> tuple[bool, bool, float, float, float, float, int]:
            time = row.time or 0.0
            point = self.entry.time
            return (
                not self.states_value_of(row),
                not records_act(row, self.acts),
                places.get(row.row_index, 0.0),
                distance_to_bounds(time, self.entry),
                0.0 if point is None else abs(time - point),
                time,
                row.row_index,
            )

        return sorted(timed, key=key)

    def _places(self, timed: Sequence[SourceRow]) -> dict[int, float]:
        """Return row index → how far the row is from the place named."""
        if self.place is None or not timed:
            return {}
        if self.place in (Place.HIGHEST, Place.LOWEST):
            sign = -1 if self.place is Place.HIGHEST else 1
            numbers = {r.row_index: r.numeric_value for r in timed if r.numeric_value is not None}
            worst = max((sign * n for n in numbers.values()), default=0.0)
            return {
                r.row_index: sign * numbers[r.row_index] if r.row_index in numbers else worst + 1
                for r in timed
            }
        if self.place is Place.LATER:
            return {r.row_index: float(n == 0) for n, r in enumerate(timed)}
        ordered = timed if self.place is Place.FIRST else timed[::-1]
        return {r.row_index: float(n) for n, r in enumerate(ordered)}


def distance_to_bounds(time: float, entry: Entry) -> float:
    """Return the hours from `time` to the nearest bound; 0 inside.

    A missing bound is taken from the point time, else open.
    """
    lower = entry.lower if entry.lower is not None else entry.time
    upper = entry.upper if entry.upper is not None else entry.time
    if lower is not None and time < lower:
        return lower - time
    if upper is not None and time > upper:
        return time - upper
    return 0.0
