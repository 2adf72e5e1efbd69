"""What a window can ask: an anchor, and criteria about stays, events, times and values.

Times are hours. A value that breaks a rule cannot be built; its ValueError says which.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

#: Names that a criterion may refer to without defining them.
ANCHOR, ADMISSION, DISCHARGE = "anchor", "admission", "discharge"
#: Which occurrence of a concept: any, the first (2 is the second, …) or the last.
ANY, FIRST, LAST = 0, 1, -1
NUMBERS, WORDS = ("age", "length"), ("sex", "unit", "disposition")
MAX_DEPTH, MAX_CRITERIA = 4, 60
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_RESERVED = {"and", "any", "stay"}


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

    def includes(self, number: float) -> bool:
        """Return whether a number is in the interval."""
        above = number > self.low or (number == self.low and not self.low_open)
        return above and (number < self.high or (number == self.high and not self.high_open))

    def reverse(self) -> Interval:
        """Return the interval of the same numbers with the other sign."""
        return Interval(-self.high, -self.low, self.high_open, self.low_open)


@dataclass(frozen=True, slots=True)
class Span:
    """Allowed hours from a reference to the event; negative: the event comes before."""

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
    """The event happens between two references; `during` includes both moments."""

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


@dataclass(frozen=True, slots=True)
class Picked:
    """Occurrences of a concept: with these values, and of those this one in order of time."""

    concept: str
    value: Interval | None = None
    which: int = ANY

    def __post_init__(self) -> None:
        if self.which < LAST:
            raise ValueError("count from 1")
        if self.value == Interval():
            raise ValueError("every value fits; leave it out")


@dataclass(frozen=True, slots=True)
class Stay:
    """A fact of the stay: a number in an interval, or a word that is (not) the given one."""

    about: str
    value: Interval | str
    negated: bool = False

    def __post_init__(self) -> None:
        if self.about not in (NUMBERS if isinstance(self.value, Interval) else WORDS):
            raise ValueError(f"{self.about} cannot be compared with this")


@dataclass(frozen=True, slots=True)
class All:
    """Every part is true; without parts it is true."""

    parts: tuple[Criterion, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part is true."""

    parts: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part is not true."""

    part: Criterion


@dataclass(frozen=True, slots=True)
class Event:
    """How many occurrences fit. `name` is how criteria in `where` refer to the occurrence.

    An occurrence that an enclosing criterion already stands for does not count again.
    """

    picked: Picked
    relations: tuple[Relation, ...] = ()
    at_least: int = 1
    at_most: int | None = None
    name: str = ""
    where: All = field(default_factory=All)

    def __post_init__(self) -> None:
        if self.name and (not _NAME.fullmatch(self.name) or self.name in _RESERVED):
            raise ValueError("use another name: a word of letters, digits, - and _")
        if self.at_least < 0 or (self.at_most is not None and self.at_most < self.at_least):
            raise ValueError("no number of occurrences fits")

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(span for relation in self.relations for span in relation.spans)


Criterion = Stay | Event | All | Some | Not


@dataclass(frozen=True, slots=True)
class Window:
    """A stay is a member if an occurrence of the anchor meets every criterion of `where`."""

    name: str
    anchor: Picked | str
    where: All = field(default_factory=All)


def walk(criterion: Criterion) -> Iterator[Criterion]:
    """Yield a criterion and everything in it."""
    yield criterion
    if isinstance(criterion, All | Some):
        for part in criterion.parts:
            yield from walk(part)
    elif isinstance(criterion, Not):
        yield from walk(criterion.part)
    elif isinstance(criterion, Event):
        yield from walk(criterion.where)


def find_picked(window: Window) -> list[Picked]:
    """Return what the window asks of concepts, the anchor first."""
    events = [c.picked for c in walk(window.where) if isinstance(c, Event)]
    return [*([window.anchor] if isinstance(window.anchor, Picked) else []), *events]


def find_concepts(window: Window) -> list[str]:
    """Return the names of the window's concepts, once each, in order."""
    return list(dict.fromkeys(picked.concept for picked in find_picked(window)))
