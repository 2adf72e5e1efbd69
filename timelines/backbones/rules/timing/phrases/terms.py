"""The parts of time expressions.

Their kinds, named days, and the reference of an offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from timelines.backbones.rules.timing.phrases.daypart import Part
from timelines.backbones.rules.timing.phrases.quantities import Quantity

#: Hours between the bounds of a clock time; parts of the day are wider.
_CLOCK_WIDTH = 1.0


class Kind(StrEnum):
    """The kind of an expression."""

    POINT = "point"  # a day, a part of a day, a clock time, or their combination
    OFFSET = "offset"  # an amount of time before or after something
    EVENT = "event"  # before, after, at or during something named, without an amount
    SPAN = "span"  # the duration of a state
    AGE = "age"  # at an age of the patient
    YEAR = "year"  # in a calendar year, month or season


class Basis(StrEnum):
    """The day that a named day counts from."""

    HOSPITAL = "hospital"  # number: hospital day, 1 = calendar day of admission
    POSTOP = "postop"  # number: days after the operation, 0 = its day
    UNIT = "unit"  # number: day of reference (unit, ventilator, antibiotics), 1 = its first
    DATE = "date"  # month, day and perhaps year
    WEEKDAY = "weekday"  # number: Monday = 0
    CURRENT = "current"  # number: days after the day spoken of
    EVENT = "event"  # reference: the day of something named, plus number


class Anchoring(StrEnum):
    """The reference of an offset or relation that names none."""

    ADMISSION = "admission"  # "ago", "PTA"
    CURSOR = "cursor"  # "two hours later"
    REFERENCE = "reference"  # "two hours after intubation"


@dataclass(frozen=True, slots=True)
class Day:
    """A named day, unresolved.

    `until` is the last number of a range ("HD5-6"). `writing`: it counts from the day of writing,
    as "yesterday" does.
    """

    basis: Basis
    number: int = 0
    until: int | None = None
    month: int | None = None
    year: int | None = None
    reference: str = ""
    writing: bool = False


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One time expression, `[start, end)` in the searched text.

    `direction` is −1 before, 0 at, +1 after. `reference` is the phrase that an offset or event
    expression refers to. `linked` marks anaphoric parts of the day: "that" (same day), "this" (the
    day of writing), "next", "previous", "first" (the first one in hospital).
    """

    start: int
    end: int
    kind: Kind
    text: str = ""
    day: Day | None = None
    part: Part | None = None
    linked: str = ""
    ambiguous_clock: bool = False
    quantity: Quantity | None = None
    direction: int = 0
    anchoring: Anchoring = Anchoring.CURSOR
    reference: str = ""
    age: tuple[float, float] | None = None
    year: int | None = None
    month: int | None = None


def states_hour(e: TimeExpression) -> bool:
    """Return whether an expression has a clock time, not a part of the day."""
    return e.part is not None and e.part.high - e.part.low <= _CLOCK_WIDTH
