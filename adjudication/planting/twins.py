"""Planted discrepancies: a perturbed twin of a timeline. No Django.

A judge's differences between original and twin give its recall; the share of its findings that are
planted gives its precision. Two changes do not count: a shift within the tolerance, and a merger of
two events. Times are hours from admission. Source: protocol section 4 ("Beyond the paper";
tolerance by whole hours).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from adjudication.judging.input import Candidate, whole_hours
from adjudication.judging.validation import TOLERANCE, Tolerance

#: A measured number in the words of an event; not the ordinal of a day, nor part of a word or of a
#: reading such as 120/80.
MEASURED = re.compile(
    r"(?<![\w#./:+-])(?<!POD )(?<!HD )(?<!\bday )(?<!\bDay )\d+(?:\.\d+)?(?![\w/:+-]|\.\d)"
)
#: Shifts, as multiples of the tolerance at the row's own time.
BEYOND, WITHIN = (1.5, 3.0, 10.0), (0.25, 0.5)
#: Factors of a changed value.
FACTORS = (0.5, 0.8, 1.25, 2.0)
#: Events for a twin to invent, unless the timeline itself has them.
INVENTED = (
    "acute appendicitis",
    "cochlear implant malfunction",
    "corneal abrasion repair",
    "dengue serology positive",
    "elective septoplasty",
    "hyperbaric oxygen session",
    "kidney donation",
    "patellar tendon rupture",
    "snake bite to the left hand",
    "tympanostomy tube placement",
)


class Plant(StrEnum):
    """How a twin differs from its original."""

    SHIFTED_BEYOND = "shifted beyond the tolerance"
    SHIFTED_WITHIN = "shifted within the tolerance"
    SIGN_FLIPPED = "sign flipped"
    DROPPED = "dropped"
    DUPLICATED = "duplicated"
    INVENTED = "invented"
    VALUE_CHANGED = "value changed"
    MERGED = "merged"

    @property
    def quiet(self) -> bool:
        """Whether the protocol calls it no difference: judges must not report it."""
        return self in (Plant.SHIFTED_WITHIN, Plant.MERGED)


class RowOwner(StrEnum):
    """The timeline with the rows that a difference is about."""

    ORIGINAL = "original"
    TWIN = "twin"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class PlantedChange:
    """One change.

    `size` is |Δ| in hours for shifts and sign flips, |Δ| over the original value for values, else
    None. `uids` are those of the rows that a finding about it may name: for a copy also its
    pattern's, for a merger both.
    """

    kind: Plant
    uids: frozenset[str]
    owner: RowOwner
    size: float | None = None


@dataclass(frozen=True, slots=True)
class Twin:
    """The perturbed rows and their changes, at most one per row."""

    rows: tuple[Candidate, ...]
    planted: tuple[PlantedChange, ...]


def plant(
    rows: Sequence[Candidate],
    *,
    seed: int,
    each: int = 3,
    kinds: Sequence[Plant] = tuple(Plant),
    invented: Sequence[str] = INVENTED,
    tolerance: Tolerance = TOLERANCE,
) -> Twin:
    """Return the twin of `rows`, with at most `each` changes of each kind.

    Fewer if too few rows allow one. The same seed gives the same twin. Raises ValueError for rows
    without UIDs or with equal ones: the row of a finding would be unknown.
    """
    uids = [r.uid for r in rows if r.uid is not None]
    if len(uids) < len(rows) or len(set(uids)) < len(uids):
        raise ValueError("planting needs a UID of its own for every row")
    work = _Planting(list(rows), random.Random(seed), tolerance, set(uids))
    for kind in kinds:
        if kind is Plant.INVENTED:
            work.invent(each, invented)
        elif kind is Plant.MERGED:
            work.merge(each)
        else:
            work.change(each, kind)
    remaining = {r.uid for r in work.rows}
    pruned = (replace(r, context=tuple(u for u in r.context if u in remaining)) for r in work.rows)
    return Twin(tuple(pruned), tuple(work.planted))


class _Planting:
    def __init__(
        self, rows: list[Candidate], rng: random.Random, tolerance: Tolerance, used: set[str]
    ) -> None:
        self.rows, self.rng, self.tolerance, self.used = rows, rng, tolerance, used
        self.original = tuple(rows)
        self.planted: list[PlantedChange] = []
        self.touched: set[str] = set()

    def change(self, each: int, kind: Plant) -> None:
        """Change single rows, until `each` are changed or no row is left."""
        make: dict[
            Plant, Callable[[Candidate], tuple[list[Candidate], RowOwner, float | None] | None]
        ] = {
            Plant.SHIFTED_BEYOND: lambda r: self._shift_time(r, BEYOND, beyond=True),
            Plant.SHIFTED_WITHIN: lambda r: self._shift_time(r, WITHIN, beyond=False),
            Plant.SIGN_FLIPPED: self._flip_time,
            Plant.DROPPED: lambda r: ([], RowOwner.ORIGINAL, None),
            Plant.DUPLICATED: lambda r: (
                [r, replace(r, uid=self._make_uid())],
                RowOwner.TWIN,
                None,
            ),
            Plant.VALUE_CHANGED: self._change_value,
        }
        made = 0
        for row in self._shuffle_unchanged_rows():
            if made == each:
                return
            if (changed := make[kind](row)) is None:
                continue
            into, owner, size = changed
            self._replace(row, into)
            self._record(kind, [row, *into], owner, size)
            made += 1

    def invent(self, each: int, pool: Sequence[str]) -> None:
        """Add events that are not in the original.

        Their times are between admission and the original's last event.
        """
        own = {r.event.casefold() for r in self.original}
        free = [event for event in pool if event.casefold() not in own]
        last = max((r.time for r in self.original if r.time is not None), default=0.0)
        for event in self.rng.sample(free, min(each, len(free))):
            row = Candidate(
                event=event,
                time=round(self.rng.uniform(0, max(last, 24.0)), 2),
                uid=self._make_uid(),
            )
            self.rows.append(row)
            self._record(Plant.INVENTED, [row], RowOwner.TWIN, None)

    def merge(self, each: int) -> None:
        """Merge two neighbours in the note at equal times into one row.

        It has the first one's UID and time.
        """
        made = 0
        for row in self._shuffle_unchanged_rows():
            if made == each:
                return
            at = self.original.index(row)
            other = self.original[at + 1] if at + 1 < len(self.original) else None
            if (
                other is None
                or {row.uid, other.uid} & self.touched
                or row.polarity is not other.polarity
                or not self._are_equal(row.time, other.time)
            ):
                continue
            ends = [e for e in (row.end, other.end) if e is not None]
            merged = replace(
                row, event=f"{row.event} with {other.event}", end=max(ends, default=None)
            )
            self._replace(row, [merged])
            self._replace(other, [])
            self._record(Plant.MERGED, [row, other], RowOwner.BOTH, None)
            made += 1

    def _shuffle_unchanged_rows(self) -> list[Candidate]:
        """Return the unchanged rows in random order."""
        free = [r for r in self.original if r.uid not in self.touched]
        return self.rng.sample(free, len(free))

    def _shift_time(
        self, row: Candidate, multiples: Sequence[float], *, beyond: bool
    ) -> tuple[list[Candidate], RowOwner, float] | None:
        if row.time is None:
            return None
        reach = max(self.tolerance.least, self.tolerance.share * abs(row.time))
        delta = self.rng.choice(multiples) * reach * self.rng.choice((-1, 1))
        if self._are_equal(row.time, row.time + delta) is beyond:
            return None
        moved = replace(
            row,
            time=row.time + delta,
            lower=_shift_bound(row.lower, delta),
            upper=_shift_bound(row.upper, delta),
        )
        return [moved], RowOwner.BOTH, abs(delta)

    def _flip_time(self, row: Candidate) -> tuple[list[Candidate], RowOwner, float] | None:
        if row.time is None or self._are_equal(row.time, -row.time):
            return None
        lower, upper = (None if bound is None else -bound for bound in (row.upper, row.lower))
        return (
            [replace(row, time=-row.time, lower=lower, upper=upper)],
            RowOwner.BOTH,
            2 * abs(row.time),
        )

    def _change_value(self, row: Candidate) -> tuple[list[Candidate], RowOwner, float] | None:
        found = list(MEASURED.finditer(row.event))
        if not found:
            return None
        number = self.rng.choice(found)
        decimals = len(number[0].partition(".")[2])
        value = float(number[0])
        number_text = f"{value * self.rng.choice(FACTORS):.{decimals}f}"
        if value == 0 or float(number_text) == value:
            return None
        event = row.event[: number.start()] + number_text + row.event[number.end() :]
        return [replace(row, event=event)], RowOwner.BOTH, abs(float(number_text) - value) / value

    def _are_equal(self, first: float | None, second: float | None) -> bool:
        return self.tolerance.equal(whole_hours(first), whole_hours(second))

    def _replace(self, row: Candidate, into: Sequence[Candidate]) -> None:
        at = self.rows.index(row)
        self.rows[at : at + 1] = into

    def _record(
        self, kind: Plant, rows: Sequence[Candidate], owner: RowOwner, size: float | None
    ) -> None:
        uids = frozenset(r.uid for r in rows if r.uid is not None)
        self.touched |= uids
        self.planted.append(PlantedChange(kind, uids, owner, size))

    def _make_uid(self) -> str:
        while (uid := f"{self.rng.randrange(0x10000):04x}") in self.used:
            continue
        self.used.add(uid)
        return uid


def _shift_bound(bound: float | None, delta: float) -> float | None:
    return None if bound is None else bound + delta
