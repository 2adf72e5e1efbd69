"""Choose the days of clock times and parts of the day that name none.

A passage is read as a sequence: each time follows the one before it as closely as it can, and small
steps backwards are allowed. The day is the one that also suits the times that follow and the next
named day, so that "at nine" after "at ten" does not jump to the next day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from timelines.backbones.rules.timing.anchors.clock import Calendar
from timelines.backbones.rules.timing.phrases.daypart import Part
from timelines.backbones.rules.timing.phrases.terms import (
    Anchoring,
    Basis,
    Day,
    Kind,
    TimeExpression,
)
from timelines.domain import DAY

#: Cost of a step back: a fixed part, and hours that count more than hours forward.
_BACK, _BACK_RATE = 1.0, 1.5
#: A part of the day of more hours than this is not stepped back to as readily.
_WIDE, _WIDE_RATE = 3.0, 3.0
#: Cost of a time of the stay before the admission, or after the discharge.
_TOO_EARLY, _TOO_LATE = 12.0, 200.0
#: Cost of reaching a day before the passage names it.
_NOT_NAMED = 6.0
#: Hours before the admission that still belong to the stay, and after the discharge.
_BEFORE, _AFTER = 3.0, 0.5
#: How many of the following times are considered.
_AHEAD = 6


@dataclass(frozen=True, slots=True)
class Choice:
    """A calendar day, and its part with the half of the day decided."""

    day: int
    part: Part


@dataclass
class Passage:
    """The times of a passage that follow the current one.

    `find_day` returns the calendar day of a named day, None if it depends on the story; `end` is
    the hour of discharge, if known.
    """

    calendar: Calendar
    find_day: Callable[[Day], int | None]
    end: float | None
    ahead: Sequence[TimeExpression]
    _costs: dict[tuple[int, float], float] = field(default_factory=dict)
    _today: int = 0

    def choose(self, e: TimeExpression, part: Part, time: float, low: float) -> Choice:
        """Return the day of `part` after the story has reached `time`.

        `low` is the earliest hour at which the story can be.
        """
        self._today = self.calendar.day_of(time)
        choices = self._choices(part, time, ambiguous=e.ambiguous_clock)
        return min(choices, key=lambda c: self._cost(c, time, low) + self._rest(0, self._at(c)))

    def _choices(self, part: Part, time: float, ambiguous: bool) -> list[Choice]:
        today = self.calendar.day_of(time)
        parts = [part]
        if ambiguous:
            parts.append(part.shift(12.0 if part.point < 12 else -12.0))
        first = today - (2 if part.point >= DAY else 1)
        return [Choice(day, p) for day in range(first, today + 2) for p in parts]

    def _at(self, choice: Choice) -> float:
        return self.calendar.midnight(choice.day) + choice.part.point

    def _cost(self, choice: Choice, time: float, low: float) -> float:
        """Return how far a choice is from the story, in hours forward."""
        start = self.calendar.midnight(choice.day)
        point = start + choice.part.point
        early, late = start + choice.part.low, start + choice.part.high
        cost = 0.1 * abs(point - time)
        if time < early:
            cost += early - time
        elif low > late:
            wide = choice.part.high - choice.part.low > _WIDE
            cost += _BACK + (_WIDE_RATE if wide else _BACK_RATE) * (low - late)
        if point < -_BEFORE <= time:
            cost += _TOO_EARLY
        if self.end is not None and point > self.end + _AFTER:
            cost += _TOO_LATE
        return cost

    def _rest(self, position: int, time: float) -> float:
        """Return the least cost of the times from `position` on, after `time`."""
        if position >= min(len(self.ahead), _AHEAD):
            return 0.0
        key = position, time
        if key not in self._costs:
            self._costs[key] = self._next(position, time)
        return self._costs[key]

    def _next(self, position: int, time: float) -> float:
        e = self.ahead[position]
        if e.kind is Kind.OFFSET and e.anchoring is Anchoring.CURSOR and e.quantity is not None:
            return self._rest(position + 1, time + e.direction * min(e.quantity.hours, DAY))
        if e.kind is not Kind.POINT:
            return self._rest(position + 1, time)
        day = self._named(e, time)
        if e.day is not None and day is None:
            return self._rest(position + 1, time)
        if e.part is None:
            part = Part("", 12.0, 0.0, DAY)
            at = time if day == self.calendar.day_of(time) else None
        else:
            part, at = e.part, None
        choices = (
            self._choices(part, time, e.ambiguous_clock) if day is None else [Choice(day, part)]
        )
        reached = day is not None and day > self._today and time >= self.calendar.midnight(day)
        costs = [
            self._cost(c, time, time) + self._rest(position + 1, self._at(c) if at is None else at)
            for c in choices
        ]
        return min(costs) + (_NOT_NAMED if reached else 0.0)

    def _named(self, e: TimeExpression, time: float) -> int | None:
        """Return the calendar day that an expression names.

        It names it absolutely or by what came before.
        """
        today = self.calendar.day_of(time)
        if e.day is not None:
            if e.day.basis is Basis.CURRENT:
                return None if e.day.writing else today + e.day.number
            return self.find_day(e.day)
        linked = {"that": today, "this": today, "next": today + 1, "previous": today - 1}
        return linked.get(e.linked)
