"""What was known at an hour, and what a policy includes.

Hours are from admission. No Django here. `cohorts.asof.counting.STATE` says the same rule for
the database; tests compare both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What was known of an occurrence at an hour."""

    KNOWN = "known"
    LATER = "later"
    NOT_YET = "not_yet"
    UNCERTAIN = "uncertain"

    @property
    def words(self) -> str:
        return {
            State.KNOWN: "happened and documented",
            State.LATER: "happened, documented later",
            State.NOT_YET: "not yet happened",
            State.UNCERTAIN: "uncertain: its bounds contain the hour",
        }[self]

    @property
    def short(self) -> str:
        return {
            State.KNOWN: "Known",
            State.LATER: "Documented later",
            State.NOT_YET: "Not yet",
            State.UNCERTAIN: "Uncertain",
        }[self]


#: What a reader of the finished note knows too early.
TOO_EARLY = (State.LATER, State.NOT_YET)


@dataclass(frozen=True, slots=True)
class Times:
    """When an occurrence happened and when it was first documented.

    `documented` is None if no row, note or discharge has such a time: it was never documented.
    """

    point: float | None
    lower: float | None = None
    upper: float | None = None
    documented: float | None = None
    #: When the note that mentions it was written; None if unknown.
    noted: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds.

        A time without bounds is exact; any other missing bound is open.
        """
        if self.lower is None and self.upper is None and self.point is not None:
            return self.point, self.point
        lower = -math.inf if self.lower is None else self.lower
        return lower, math.inf if self.upper is None else self.upper


def state_at(times: Times, hour: float) -> State:
    """Return the state at an hour.

    What happens or is documented at the hour is known.
    """
    lower, upper = times.bounds
    if lower > hour:
        return State.NOT_YET
    if upper > hour:
        return State.UNCERTAIN
    return State.KNOWN if _is_by(times.documented, hour) else State.LATER


class Basis(StrEnum):
    """By which time an occurrence counts as known."""

    POINT = "point"
    LATEST = "latest"
    DOCUMENTED = "documented"

    @property
    def words(self) -> str:
        return {
            Basis.POINT: "its time is not after the hour",
            Basis.LATEST: "its latest bound is not after the hour",
            Basis.DOCUMENTED: "it was documented by the hour and may have happened",
        }[self]


class Doubt(StrEnum):
    """What is done with occurrences whose bounds contain the hour."""

    KEEP = "keep"
    DROP = "drop"
    FLAG = "flag"

    @property
    def words(self) -> str:
        return {
            Doubt.KEEP: "kept",
            Doubt.DROP: "left out",
            Doubt.FLAG: "kept and flagged in the column reason",
        }[self]


@dataclass(frozen=True, slots=True)
class Policy:
    """What an export as of an hour contains."""

    basis: Basis
    doubt: Doubt
    #: Leave out what only a note says that was written after the hour.
    later_notes_left_out: bool = True

    @property
    def words(self) -> str:
        """Say the policy for the data dictionary."""
        notes = "left out" if self.later_notes_left_out else "kept"
        return (
            f"An occurrence is included if {self.basis.words}. Of these, occurrences whose bounds"
            f" contain the hour are {self.doubt.words}. Occurrences of notes written after the hour"
            f" are {notes}."
        )


class Passed(StrEnum):
    """Whether an export has an occurrence."""

    IN = "in"
    FLAGGED = "flagged"
    OUT = "out"


def passes(policy: Policy, times: Times, hour: float) -> Passed:
    """Return whether an export as of the hour has the occurrence.

    First the basis decides, then `doubt` about those whose bounds contain the hour.
    """
    if policy.later_notes_left_out and not _is_by(times.noted, hour):
        return Passed.OUT
    if not _is_by(_time_of(policy.basis, times), hour) or times.bounds[0] > hour:
        return Passed.OUT
    if times.bounds[1] <= hour or policy.doubt is Doubt.KEEP:
        return Passed.IN
    return Passed.FLAGGED if policy.doubt is Doubt.FLAG else Passed.OUT


def _time_of(basis: Basis, times: Times) -> float | None:
    """Return the time that the basis compares with the hour."""
    if basis is Basis.POINT:
        return times.point
    return times.bounds[1] if basis is Basis.LATEST else times.documented


def _is_by(time: float | None, hour: float) -> bool:
    return time is not None and time <= hour
