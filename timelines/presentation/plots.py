"""The timeline plot as data.

A symmetric-log axis of hours, readable ticks, lanes by kind, and rows inside a lane.

No Django and no plotting library here. Positions run from 0 to 1 across the plot; time zero
(admission) is always at `ZERO`, so that cases and zooms can be compared at a glance. On each side
the distance from zero is logarithmic beyond `LINEAR_HOURS` and close to linear below it, scaled so
that the case's own extent fills the side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ehr.presentation.wording import MINUS
from timelines.domain import DAY, WEEK, YEAR, Lane
from timelines.presentation.axis import MOST_DAYS, AxisTick

ZERO = 0.36
LINEAR_HOURS = 3.0
#: A case's past and future are shown to the first of these that covers them (hours).
_PAST_LADDER = (DAY, WEEK, 30 * DAY, YEAR, 10 * YEAR, 30 * YEAR, 100 * YEAR)
_FUTURE_LADDER = (DAY, 3 * DAY, WEEK, 14 * DAY, 30 * DAY, 90 * DAY, YEAR, 10 * YEAR)
#: Marks of one row keep this distance (share of the plot's width).
ROW_GAP = 0.014
LANE_ORDER: tuple[Lane, ...] = tuple(Lane)

#: hours, words, rank: labels of a lower rank win if there is no room for all.
_TICKS: tuple[tuple[float, str, int], ...] = (
    *(
        (-n * YEAR, f"−{n} y", rank)
        for n, rank in ((100, 2), (50, 3), (30, 2), (20, 3), (10, 1), (5, 3), (2, 3), (1, 1))
    ),
    *(
        (-n * DAY, f"−{n} d", rank)
        for n, rank in (
            (180, 3),
            (90, 2),
            (60, 4),
            (30, 1),
            (14, 2),
            (7, 1),
            (5, 4),
            (3, 2),
            (2, 3),
        )
    ),
    *(
        (-float(n), f"−{n} h", rank)
        for n, rank in ((24, 1), (18, 4), (12, 3), (6, 2), (3, 4), (2, 5), (1, 4))
    ),
    (0.0, "0", 0),
    *(
        (float(n), f"+{n} h", rank)
        for n, rank in (
            (1, 3),
            (2, 4),
            (3, 3),
            (4, 5),
            (6, 1),
            (8, 5),
            (12, 2),
            (18, 4),
            (24, 1),
            (36, 3),
        )
    ),
    *(
        (n * DAY, f"+{n} d", rank)
        for n, rank in (
            (2, 2),
            (3, 1),
            (4, 3),
            (5, 2),
            (6, 4),
            (7, 1),
            (10, 3),
            (14, 1),
            (21, 3),
            (30, 1),
        )
    ),
    *((n * DAY, f"+{n} d", rank) for n, rank in ((60, 3), (90, 2), (180, 3))),
    *((n * YEAR, f"+{n} y", rank) for n, rank in ((1, 1), (2, 3), (5, 2), (10, 1))),
)


#: Ranks of hospital days that mark the scale; others are labelled if there is room.
_DAY_RANKS = {2: 1, 3: 2, 5: 2, 8: 1, 15: 1, 31: 2}


@dataclass(frozen=True, slots=True)
class Axis:
    """The hours shown on either side of admission, both positive."""

    past: float
    future: float

    def position(self, hours: float) -> float:
        """Map hours to 0…1, increasing.

        Times beyond the shown extent are placed at the edge.
        """
        if hours < 0:
            return ZERO * (1 - min(_bend(-hours) / _bend(self.past), 1.0))
        return ZERO + (1 - ZERO) * min(_bend(hours) / _bend(self.future), 1.0)

    def ticks(self) -> list[AxisTick]:
        """The ladder's hours that lie within the extent, in order."""
        return self._within(_TICKS)

    def day_ticks(self, admitted: datetime, discharge: float | None) -> list[AxisTick]:
        """Return days and clock times within the extent, in order.

        Before admission and after discharge they are distances.
        """
        before = [(h, f"{words.removeprefix(MINUS)} before", r) for h, words, r in _TICKS if h < 0]
        end = self.future if discharge is None else min(discharge, self.future)
        opened = admitted.hour + admitted.minute / 60
        clocks = [(n * 6.0 - opened, n * 6) for n in range(1, 9)]
        days = [(n * DAY - opened, n + 1) for n in range(1, MOST_DAYS)]
        inside = [
            (0.0, f"{admitted:%H:%M}", 0),
            *((h, f"{n % 24:02d}:00", 4) for h, n in clocks if 0 < h < end and n % 24),
            *((h, f"HD {n}", _DAY_RANKS.get(n, 3)) for h, n in days if 0 < h < end),
        ]
        after = [
            (discharge + h, f"{words.removeprefix('+')} after", rank)
            for h, words, rank in _TICKS
            if discharge is not None and h >= DAY and rank <= 2
        ]
        return self._within(sorted([*before, *inside, *after]))

    def _within(self, ticks: Iterable[tuple[float, str, int]]) -> list[AxisTick]:
        return [
            AxisTick(self.position(h), words, rank)
            for h, words, rank in ticks
            if -self.past <= h <= self.future
        ]


@dataclass(frozen=True, slots=True)
class Mark:
    """One occurrence on the plot.

    Times in hours; `time` None is not drawn and takes no row.
    """

    key: str
    lane: Lane
    time: float | None
    text_time: float | None = None
    reference_time: float | None = None


@dataclass(frozen=True, slots=True)
class LaneRows:
    """One lane and the row of each placed key.

    Also its counts of occurrences, of those not placed, and of rows.
    """

    lane: Lane
    count: int
    unplaced: int
    rows: int
    row_of: dict[str, int]


def build_axis(times: Iterable[float], discharge: float | None) -> Axis:
    """Return the axis that covers all times and the discharge.

    Past and future each extend to the next step of their ladder.
    """
    known = [*times, *([discharge] if discharge is not None else [])]
    return Axis(
        past=_step(max((-h for h in known if h < 0), default=0.0), _PAST_LADDER),
        future=_step(max((h for h in known if h > 0), default=0.0), _FUTURE_LADDER),
    )


def axis_ladder() -> dict[str, Any]:
    """Return the constants of the axis.

    A script draws the same axis over times that change while it is shown.
    """
    return {
        "zero": ZERO,
        "linear": LINEAR_HOURS,
        "past_steps": _PAST_LADDER,
        "future_steps": _FUTURE_LADDER,
        "ticks": _TICKS,
    }


def lanes(marks: Sequence[Mark], axis: Axis) -> list[LaneRows]:
    """Return the lanes that have occurrences, in fixed order.

    In each lane, marks and their shifts share rows if they do not touch.
    """
    found = []
    for lane in LANE_ORDER:
        members = [m for m in marks if m.lane is lane]
        if members:
            placed = {m.key: _extent(m, axis) for m in members if m.time is not None}
            row_of = _pack(placed)
            found.append(
                LaneRows(
                    lane,
                    len(members),
                    len(members) - len(placed),
                    max(row_of.values(), default=-1) + 1,
                    row_of,
                )
            )
    return found


def density(positions: Iterable[float], bins: int) -> list[int]:
    """Count the positions in each of `bins` equal parts of 0…1.

    For the overview strip.
    """
    counts = [0] * bins
    for position in positions:
        counts[min(int(position * bins), bins - 1)] += 1
    return counts


def _bend(hours: float) -> float:
    return math.log1p(hours / LINEAR_HOURS)


def _step(needed: float, ladder: Sequence[float]) -> float:
    return next((step for step in ladder if step >= needed), ladder[-1])


def _extent(mark: Mark, axis: Axis) -> tuple[float, float]:
    positions = [axis.position(h) for h in (mark.time, mark.text_time) if h is not None]
    return min(positions), max(positions)


def _pack(extents: dict[str, tuple[float, float]]) -> dict[str, int]:
    """Assign rows: the first whose last mark ends far enough left.

    Keys come in order of their left end.
    """
    ends: list[float] = []
    row_of: dict[str, int] = {}
    for key, (left, right) in sorted(extents.items(), key=lambda item: item[1]):
        row = next((r for r, end in enumerate(ends) if end + ROW_GAP <= left), len(ends))
        if row == len(ends):
            ends.append(right)
        else:
            ends[row] = right
        row_of[key] = row
    return row_of
