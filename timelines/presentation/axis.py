"""The time axis of a case page.

It is linear inside the stay and compressed around it.

Positions are shares of the width, 0 to 1. Admission and discharge are at the same place in every
case, so that two cases compare at a glance; before and after them the distance is logarithmic, and
pages draw a break there. No Django here; times are hours from admission.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from ehr.presentation.wording import hours_words
from timelines.domain import DAY, WEEK, YEAR, Anchor

#: Shares of the width before admission and after discharge, if something is there.
BEFORE = 0.16
AFTER = 0.12
#: The share kept free on a side where nothing is.
MARGIN = 0.015
#: Hours of distance at which compression begins.
BEND_HOURS = 3.0
#: A stay of unknown length, or of no length, is drawn this long.
LEAST_STAY = 6.0
#: Times without a known discharge belong to the stay up to here.
LONGEST_GUESS = 30 * DAY
_LADDER = (DAY, WEEK, 30 * DAY, YEAR, 10 * YEAR, 30 * YEAR, 100 * YEAR)
#: Hours, words and rank of the ticks outside the stay; a lower rank wins if there is no room.
_DISTANCES: tuple[tuple[float, str, int], ...] = (
    (6.0, "6 h", 4),
    (DAY, "1 d", 2),
    (3 * DAY, "3 d", 4),
    (WEEK, "1 wk", 3),
    (30 * DAY, "1 mo", 2),
    (YEAR, "1 y", 1),
    (5 * YEAR, "5 y", 4),
    (10 * YEAR, "10 y", 2),
    (30 * YEAR, "30 y", 3),
    (100 * YEAR, "100 y", 3),
)
#: More hospital days than this are not drawn one by one; no more ticks than this are in a stay.
MOST_DAYS = 60
MOST_TICKS = 20
#: Hours of night on the clock, drawn darker.
NIGHT = (22, 6)


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A labelled position; `rank` 0 is the most important."""

    position: float
    words: str
    rank: int


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of the axis: a hospital day, or a night (without words)."""

    start: float
    end: float
    words: str = ""


@dataclass(frozen=True, slots=True)
class StayAxis:
    """The hours that the axis shows.

    `stay` is its length; `past` and `future` reach before admission and beyond discharge, 0 if
    nothing is there.
    """

    stay: float
    past: float = 0.0
    future: float = 0.0

    @classmethod
    def covering(cls, times: Iterable[float], discharge: float | None) -> StayAxis:
        """Return the axis that covers all times and the discharge."""
        known = list(times)
        stay = discharge
        if stay is None:
            stay = max((h for h in known if h <= LONGEST_GUESS), default=0.0)
        stay = max(stay, LEAST_STAY)
        return cls(
            stay,
            past=_step(max((-h for h in known if h < 0), default=0.0)),
            future=_step(max((h - stay for h in known if h > stay), default=0.0)),
        )

    @property
    def admission(self) -> float:
        """Return the position of admission."""
        return BEFORE if self.past else MARGIN

    @property
    def discharge(self) -> float:
        """Return the position of discharge."""
        return 1 - (AFTER if self.future else MARGIN)

    def position(self, hours: float) -> float:
        """Map hours to 0…1, never decreasing.

        Times beyond the shown extent are placed at the edge.
        """
        start, end = self.admission, self.discharge
        if hours < 0:
            return start * (1 - _share(-hours, self.past))
        if hours > self.stay:
            return end + (1 - end) * _share(hours - self.stay, self.future)
        return start + (end - start) * hours / self.stay

    def ticks(self, anchor: Anchor) -> list[AxisTick]:
        """Return ticks in order.

        They are distances outside the stay, days and clock times in it."""
        before = [
            AxisTick(self.position(-h), f"{words} before", rank)
            for h, words, rank in reversed(_DISTANCES)
            if h <= self.past
        ]
        after = [
            AxisTick(self.position(self.stay + h), f"{words} after", rank)
            for h, words, rank in _DISTANCES
            if h <= self.future
        ]
        return [*before, *self._inside(anchor), *after]

    def hour_ticks(self) -> list[AxisTick]:
        """Return the same ticks as hours from admission, in order."""
        before = [(-h, rank) for h, _, rank in reversed(_DISTANCES) if h <= self.past]
        after = [(self.stay + h, rank) for h, _, rank in _DISTANCES if h <= self.future]
        steps = [(0.0, 0), *((h, 3 if h % DAY else 1) for h in self._steps())]
        return [
            AxisTick(self.position(h), hours_words(h), rank)
            for h, rank in (*before, *steps, *after)
        ]

    def days(self, anchor: Anchor) -> list[Band]:
        """Return the hospital days; none if there are too many to tell apart."""
        if self.stay > MOST_DAYS * DAY:
            return []
        edges = [0.0, *self._clock_hours(anchor, 0, DAY), self.stay]
        return [
            Band(self.position(start), self.position(end), f"HD {n}")
            for n, (start, end) in enumerate(pairwise(edges), start=1)
        ]

    def hour_days(self) -> list[Band]:
        """Return days counted from admission, named by their start.

        None if there are too many to tell apart.
        """
        if self.stay > MOST_DAYS * DAY:
            return []
        starts = [n * DAY for n in range(math.ceil(self.stay / DAY))]
        return [
            Band(self.position(h), self.position(min(h + DAY, self.stay)), hours_words(h))
            for h in starts
        ]

    def nights(self, anchor: Anchor) -> list[Band]:
        """Return the nights of the stay, cut at admission and discharge."""
        if self.stay > MOST_DAYS * DAY:
            return []
        first, last = NIGHT
        evenings = [h - DAY for h in self._clock_hours(anchor, first, DAY, beyond=DAY)]
        cut = [(max(h, 0.0), min(h + 24 - first + last, self.stay)) for h in evenings]
        return [Band(self.position(a), self.position(b)) for a, b in cut if a < b]

    def _inside(self, anchor: Anchor) -> Iterator[AxisTick]:
        yield AxisTick(self.admission, f"{anchor.at:%H:%M}", 0)
        opened = _hour_of_day(anchor.at)
        for hours in self._clock_hours(anchor, 0, self._every):
            on_clock = opened + hours
            day, hour = divmod(round(on_clock, 6), DAY)
            if hour:
                yield AxisTick(self.position(hours), f"{int(hour):02d}:00", 3)
            else:
                yield AxisTick(self.position(hours), f"HD {int(day) + 1}", 1)

    @property
    def _every(self) -> float:
        """Return the hours between two ticks of the stay."""
        days = max(1, math.ceil(self.stay / (MOST_TICKS * DAY)))
        return 6.0 if self.stay <= 2 * DAY else 12.0 if self.stay <= 4 * DAY else days * DAY

    def _steps(self) -> Iterator[float]:
        at = self._every
        while at < self.stay:
            yield at
            at += self._every

    def _clock_hours(
        self, anchor: Anchor, hour: float, every: float, *, beyond: float = 0.0
    ) -> Iterator[float]:
        """Yield the hours of the stay at a clock hour and steps after it."""
        at = (hour - _hour_of_day(anchor.at)) % min(every, DAY) or min(every, DAY)
        while at < self.stay + beyond:
            yield at
            at += every


def draw_ticks(ticks: Iterable[AxisTick]) -> list[list[Any]]:
    """Return ticks as scripts read them: position, words, rank."""
    return [[round(t.position, 5), t.words, t.rank] for t in ticks]


def draw_bands(bands: Iterable[Band]) -> list[list[Any]]:
    """Return bands as scripts read them: start, end, words."""
    return [[round(b.start, 5), round(b.end, 5), b.words] for b in bands]


def _hour_of_day(when: datetime) -> float:
    return when.hour + when.minute / 60 + when.second / 3600


def _share(distance: float, extent: float) -> float:
    if extent <= 0:
        return 1.0
    return min(math.log1p(distance / BEND_HOURS) / math.log1p(extent / BEND_HOURS), 1.0)


def _step(needed: float) -> float:
    """Return the first step of the ladder that covers a distance; 0 for none."""
    return 0.0 if needed <= 0 else next((s for s in _LADDER if s >= needed), _LADDER[-1])
