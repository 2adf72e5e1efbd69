"""What a window can ask: an anchor, and criteria of events and stays.

Times are hours. A value that breaks a rule cannot be built; its ValueError says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cohorts.engine.relations import Interval, Relation, Span

#: Names that a criterion may refer to without defining them.
ANCHOR, ADMISSION, DISCHARGE = "anchor", "admission", "discharge"
#: Which occurrence of a concept: any, the first (2 is the second, …) or the last.
ANY, FIRST, LAST = 0, 1, -1
NUMBERS, WORDS = ("age", "length"), ("sex", "unit", "disposition")
MAX_DEPTH, MAX_CRITERIA = 4, 60
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_RESERVED = {"and", "any", "stay"}


@dataclass(frozen=True, slots=True)
class Picked:
    """Occurrences of a concept: those with a value, and which of them."""

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
    """A fact of the stay: a number in an interval, or a word or not."""

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
    """How many occurrences fit; `where` refers to each by `name`.

    An occurrence that an enclosing criterion already picked does not count again.
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
    """A stay is a member if an occurrence of the anchor meets `where`."""

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
