"""Weigh the days that clock times and parts of the day may mean.

A time that names no day has alternatives. What the passage says constrains them, each with a cost
in hours: a time follows the one before it, and soon; a step back costs more, but a jump back to
another part of the story has a limit, lower where a line begins; days are not reached before they
are named; the stay has an end. The alternatives of a passage are chosen together (`solver`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from timelines.backbones.rules.timing.anchors.clock import Calendar
from timelines.backbones.rules.timing.phrases.daypart import Part
from timelines.backbones.rules.timing.phrases.terms import (
    Anchoring,
    Basis,
    Day,
    Kind,
    TimeExpression,
)
from timelines.backbones.rules.timing.solver import close_to_best, least_costs
from timelines.domain import DAY

#: Cost of an hour away, of a step back, and of each of its hours.
_AWAY, _BACK, _BACK_RATE = 0.1, 1.0, 1.5
#: The most that the hours of a step back cost: inside a line, and where it begins.
_JUMP, _NEW_LINE = 16.0, 9.0
#: A part of the day of more hours than this is not stepped back to as readily.
_WIDE, _WIDE_RATE = 3.0, 3.0
#: Cost of a time of the stay before the admission, or after the discharge.
_TOO_EARLY, _TOO_LATE = 12.0, 200.0
#: Cost of reaching a day before the passage names it.
_NOT_NAMED = 16.0
#: Cost of another day than the one spoken of.
_NOT_SPOKEN = 24.0
#: Hours before the admission that still belong to the stay, and after the discharge.
_BEFORE, _AFTER = 3.0, 0.5
#: How many of the following times are considered.
_AHEAD = 6
#: Alternatives that cost at most this much more than the best may be meant as well.
_DOUBT = 12.0
_WHOLE_DAY = Part("", 12.0, 0.0, DAY)


@dataclass(frozen=True, slots=True)
class Choice:
    """A calendar day, and its part with the half of the day decided.

    `others` are the days of alternatives that suit the story nearly as well.
    """

    day: int
    part: Part
    others: tuple[tuple[int, Part], ...] = ()


@dataclass(frozen=True)
class _Times:
    """Alternatives of one time: hours from t = 0, an array for each limit."""

    point: np.ndarray
    early: np.ndarray
    late: np.ndarray

    @classmethod
    def exactly(cls, hours: np.ndarray) -> _Times:
        return cls(hours, hours, hours)


@dataclass(frozen=True)
class Passage:
    """The times of a passage that follow the current one.

    `find_day` returns the calendar day of a named day, None if it depends on the story; `end` is
    the hour of discharge, if known. `new_line`: the current time is the first of its line.
    """

    calendar: Calendar
    find_day: Callable[[Day], int | None]
    end: float | None
    ahead: Sequence[TimeExpression]
    new_line: bool = False

    def choose(self, e: TimeExpression, part: Part, time: float, low: float) -> Choice:
        """Return the day of `part` after the story has reached `time`.

        The story has reached `low` at the least.
        """
        today = self.calendar.day_of(time)
        readings = _readings(part, today, today, ambiguous=e.ambiguous_clock)
        jump = _NEW_LINE if self.new_line else _JUMP
        column = self._at(readings)
        costs = self._costs(np.array([time]), np.array([low]), column, jump)[0]
        return self._choose(readings, column, costs, today)

    def confirm(self, part: Part, day: int) -> Choice:
        """Return the day of `part` if `day` is the one spoken of.

        Another day is chosen only if what follows demands it.
        """
        readings = [(d, part) for d in range(day - 1, day + 2)]
        costs = np.array([0.0 if d == day else _NOT_SPOKEN for d, _ in readings])
        return self._choose(readings, self._at(readings), costs, day)

    def _choose(
        self, readings: list[tuple[int, Part]], column: _Times, costs: np.ndarray, today: int
    ) -> Choice:
        total = least_costs(costs, self._steps(column, today))
        best, *others = (readings[i] for i in close_to_best(total, _DOUBT))
        return Choice(*best, tuple(others))

    def _at(self, readings: Sequence[tuple[int, Part]]) -> _Times:
        limits = np.array([self.calendar.at(day, part) for day, part in readings])
        return _Times(*limits.T)

    def _costs(
        self, time: np.ndarray, low: np.ndarray, at: _Times, jump: float = _JUMP
    ) -> np.ndarray:
        """Return how far alternatives are from the story, in hours forward.

        The result is (k, m) for k times of the story and m alternatives.
        """
        time, low = time[:, None], low[:, None]
        cost = _AWAY * np.minimum(np.abs(at.point - time), jump)
        cost += np.maximum(at.early - time, 0.0)
        rate = np.where(at.late - at.early > _WIDE, _WIDE_RATE, _BACK_RATE)
        back = (time >= at.early) & (low > at.late)
        cost += np.where(back, _BACK + np.minimum(rate * (low - at.late), jump), 0.0)
        cost += np.where((at.point < -_BEFORE) & (time >= -_BEFORE), _TOO_EARLY, 0.0)
        if self.end is not None:
            cost += np.where(at.point > self.end + _AFTER, _TOO_LATE, 0.0)
        return cost

    def _steps(self, column: _Times, today: int) -> list[np.ndarray]:
        """Return the costs of the times that follow."""
        steps = []
        for e in self.ahead[:_AHEAD]:
            followed = self._follow(e, column.point, today)
            if followed is not None:
                column, step = followed
                steps.append(step)
        return steps

    def _follow(
        self, e: TimeExpression, time: np.ndarray, today: int
    ) -> tuple[_Times, np.ndarray] | None:
        """Return the alternatives of the next time, with their costs.

        They follow those at `time`. None if it says nothing about the order.
        """
        if e.kind is Kind.OFFSET and e.anchoring is Anchoring.CURSOR and e.quantity is not None:
            moved = _Times.exactly(time + e.direction * min(e.quantity.hours, DAY))
            return moved, _each(np.zeros(len(time)))
        if e.kind is not Kind.POINT:
            return None
        before = [self.calendar.day_of(t) for t in time]
        days = [day for b in before if (day := self._named(e, b)) is not None]
        if len(days) < len(before):
            if e.day is not None or e.part is None:
                return None
            free = self._at(_readings(e.part, min(before), max(before), e.ambiguous_clock))
            return free, self._costs(time, time, free)
        named = self._at([(day, e.part or _WHOLE_DAY) for day in days])
        costs = self._costs(time, time, named).diagonal()
        midnights = np.array([self.calendar.midnight(day) for day in days])
        early = (np.array(days) > today) & (time >= midnights)
        stays = (np.array(days) == before) & (e.part is None)
        at = _Times(*(np.where(stays, time, x) for x in (named.point, named.early, named.late)))
        return at, _each(costs + np.where(early, _NOT_NAMED, 0.0))

    def _named(self, e: TimeExpression, today: int) -> int | None:
        """Return the calendar day that an expression names.

        `today` is the day before it in the story. It names it absolutely or by what came before.
        """
        if e.day is not None:
            if e.day.basis is Basis.CURRENT:
                return None if e.day.writing else today + e.day.number
            return self.find_day(e.day)
        linked = {"that": today, "this": today, "next": today + 1, "previous": today - 1}
        return linked.get(e.linked)


def _readings(part: Part, first: int, last: int, ambiguous: bool) -> list[tuple[int, Part]]:
    """Return the days and halves of the day that a time may mean.

    It follows calendar days `first` to `last`.
    """
    parts = [part]
    if ambiguous:
        parts.append(part.shift(12.0 if part.point < 12 else -12.0))
    first -= 2 if part.point >= DAY else 1
    return [(day, p) for day in range(first, last + 2) for p in parts]


def _each(costs: np.ndarray) -> np.ndarray:
    """Return the step in which each alternative is followed by its own."""
    step = np.full((len(costs), len(costs)), np.inf)
    np.fill_diagonal(step, costs)
    return step
