"""Intervals, and when an event happens relative to what it refers to."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from `low` to `high`; an end is included unless it is open."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high):
            raise ValueError("a limit is not a number")
        if self.low > self.high or (self.low == self.high and (self.low_open or self.high_open)):
            raise ValueError("nothing is in it: it ends before it starts")

    def decide(self, low: float, high: float) -> bool | None:
        """Return whether all of [low, high] is inside, or none; else None."""
        above = low > self.low or (low == self.low and not self.low_open)
        below = high < self.high or (high == self.high and not self.high_open)
        if above and below:
            return True
        misses = high < self.low or (self.low_open and high == self.low)
        misses = misses or low > self.high or (self.high_open and low == self.high)
        return False if misses else None

    def includes(self, number: float) -> bool:
        """Return whether a number is in the interval."""
        return bool(self.decide(number, number))

    def reverse(self) -> Interval:
        """Return the interval of the same numbers with the other sign."""
        return Interval(-self.high, -self.low, self.high_open, self.low_open)


@dataclass(frozen=True, slots=True)
class Span:
    """Hours from a reference to the event; negative: the event is before."""

    reference: str
    hours: Interval


@dataclass(frozen=True, slots=True)
class Within:
    """The event happens this many hours after, or before, a reference."""

    hours: Interval
    reference: str
    before: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        return (Span(self.reference, self.hours.reverse() if self.before else self.hours),)


@dataclass(frozen=True, slots=True)
class Before:
    """The event happens before a reference, not at the same time."""

    reference: str

    @property
    def spans(self) -> tuple[Span, ...]:
        return (Span(self.reference, Interval(high=0, high_open=True)),)


@dataclass(frozen=True, slots=True)
class After:
    """The event happens after a reference, not at the same time."""

    reference: str

    @property
    def spans(self) -> tuple[Span, ...]:
        return (Span(self.reference, Interval(low=0, low_open=True)),)


@dataclass(frozen=True, slots=True)
class Between:
    """The event happens between two moments; `during` includes them."""

    start: str
    end: str
    during: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        opened = not self.during
        return (
            Span(self.start, Interval(low=0, low_open=opened)),
            Span(self.end, Interval(high=0, high_open=opened)),
        )


Relation = Within | Before | After | Between
