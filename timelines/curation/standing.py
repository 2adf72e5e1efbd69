"""Which corrections of one occurrence count. No Django.

* The answer of a person is their latest correction that is not undone.
* Answers that agree to the minute count: the latest of them replaces the time of the base.
* Answers that differ are a conflict. Both are shown and the time of the base stays until an
  adjudicator settles it.
* A settlement counts from then on. A later answer that differs from it opens the conflict again,
  and the settled time stays until the next settlement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

#: `decided_by` of a corrected entry. Who did it is in the log of corrections.
CORRECTED_BY = "clinician's correction"
SETTLED_BY = "adjudicator's settlement"
#: The reason of a correction by a row, if its author gives none.
DEFAULT_REASON = "Taken from the record."
CORRECTING = frozenset({CORRECTED_BY, SETTLED_BY})


class Kind(StrEnum):
    """What a correction says, as `timelines.models.Correction.Kind`."""

    TIME = "time"
    NOT_PLACED = "not_placed"
    NOT_HAPPENED = "not_happened"
    BASE = "base"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of the log, by its number; times are hours from admission."""

    number: int
    person: int
    kind: Kind
    time: float | None = None
    lower: float | None = None
    upper: float | None = None
    known: bool = False
    rows: tuple[int, ...] = ()
    reason: str = ""
    settles: bool = False
    undoes: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What counts for an occurrence.

    `applied` replaces the time of the base; None leaves it. `answers` are those shown: the current
    settlement, if any, then the answers that it did not settle, one a person. `disputed`: an
    adjudicator must settle them.
    """

    applied: Mark | None = None
    answers: tuple[Mark, ...] = ()
    disputed: bool = False


def find_standing(log: Sequence[Mark]) -> Standing:
    """Return what counts of an occurrence's log, which is in order."""
    undone = {mark.undoes for mark in log if mark.kind is Kind.UNDO}
    live = [mark for mark in log if mark.kind is not Kind.UNDO and mark.number not in undone]
    settlement = next((mark for mark in reversed(live) if mark.settles), None)
    latest: dict[int, Mark] = {}
    for mark in live:
        if not mark.settles and (settlement is None or mark.number > settlement.number):
            latest[mark.person] = mark
    answers = sorted(latest.values(), key=lambda mark: mark.number)
    if settlement is not None:
        applied = None if settlement.kind is Kind.BASE else settlement
        differs = any(not agree(settlement, mark) for mark in answers)
        return Standing(applied, (settlement, *answers), differs)
    disputed = any(not agree(answers[0], mark) for mark in answers)
    applied = answers[-1] if answers and not disputed else None
    return Standing(applied, tuple(answers), disputed)


def agree(first: Mark, second: Mark) -> bool:
    """Return whether two answers say the same, to the minute."""
    return first.kind is second.kind and _minute(first.time) == _minute(second.time)


def _minute(hours: float | None) -> int | None:
    return None if hours is None else round(hours * 60)
