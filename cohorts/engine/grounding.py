"""Write out what a window says about one stay, as a formula."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cohorts.engine import language as lang
from cohorts.engine.columns import scale, to_milliseconds
from cohorts.engine.differences import Atom, Differences
from cohorts.engine.formulas import Formula, conjoin, count, disjoin, list_atoms, negate, rename
from cohorts.engine.language import All, Criterion, Event, Not, Picked, Some, Stay, Window
from cohorts.engine.relations import Interval, Span
from cohorts.engine.solving import Budget

_OPEN = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence, with bounds in milliseconds and the place of its time."""

    fact: int | None
    place: int
    lower: float
    upper: float
    ordinal: int = 0
    value: float | None = None

    @property
    def rank(self) -> tuple[int, int]:
        """What decides between occurrences of the same time."""
        return self.ordinal, self.fact or 0


@dataclass
class Grounding:
    """One stay: what is known, and a place for each number that is not."""

    stay: Mapping[str, Any]
    occurrences: Mapping[str, Sequence[Mapping[str, Any]]]
    budget: Budget
    boxes: list[tuple[float, float]] = field(default_factory=list)
    places: dict[Hashable, int] = field(default_factory=dict)
    by_concept: dict[str, list[Occurrence]] = field(default_factory=dict)
    picked: dict[Hashable, Formula] = field(default_factory=dict)

    def ground(self, window: Window) -> Formula:
        """Return the formula that is true if and only if the stay is a member."""
        discharge = self.stay["discharge"]
        known = (0.0, math.inf) if discharge is None else (to_milliseconds(discharge),) * 2
        names = {
            lang.ADMISSION: Occurrence(None, 0, 0.0, 0.0),
            lang.DISCHARGE: Occurrence(None, self._place("discharge", known), *known),
        }
        if isinstance(window.anchor, Picked):
            anchor = Event(window.anchor, name=lang.ANCHOR, where=window.where)
            return self._event(anchor, names, {})
        names[lang.ANCHOR] = names[window.anchor]
        return self._criterion(window.where, names, {})

    def start(self, formula: Formula) -> tuple[Formula, Differences]:
        """Return the formula over the numbers that it needs, and their bounds."""
        used = sorted({place for atom in list_atoms(formula) for place in (atom.x, atom.y)} - {0})
        places = {0: 0} | {old: new for new, old in enumerate(used, start=1)}
        return rename(formula, places), Differences([self.boxes[place - 1] for place in used])

    def _place(self, number: Hashable, box: tuple[float, float]) -> int:
        if number not in self.places:
            self.boxes.append(box)
            self.places[number] = len(self.boxes)
        return self.places[number]

    def _criterion(
        self, criterion: Criterion, names: Mapping[str, Occurrence], used: Mapping[int, set[str]]
    ) -> Formula:
        match criterion:
            case Stay():
                return self._stay(criterion)
            case Event():
                return self._event(criterion, names, used)
            case Not(part):
                return negate(self._criterion(part, names, used))
            case All(parts):
                return conjoin([self._criterion(part, names, used) for part in parts])
            case Some(parts):
                return disjoin([self._criterion(part, names, used) for part in parts])

    def _stay(self, stay: Stay) -> Formula:
        known = self.stay[stay.about]
        if not isinstance(stay.value, str):
            return self._number(("stay", stay.about), known, stay.value)
        if known is not None:
            return bool((known == stay.value) != stay.negated)
        # An unknown word is an unknown number; each word asked about has its own.
        word = float(self._place(("word", stay.about, stay.value), (0.0, 0.0)))
        same = self._number(("stay", stay.about), None, Interval(word, word))
        return negate(same) if stay.negated else same

    def _number(self, number: Hashable, known: float | None, allowed: Interval) -> Formula:
        if known is not None:
            return allowed.includes(known)
        return self._difference(self._place(number, _OPEN), 0, _OPEN, allowed)

    def _event(
        self, event: Event, names: Mapping[str, Occurrence], used: Mapping[int, set[str]]
    ) -> Formula:
        concept = event.picked.concept
        parts: list[Formula] = []
        for found in self._occurrences(concept):
            assert found.fact is not None
            if concept in used.get(found.fact, ()):
                continue
            self.budget.spend(1)
            part = [self._related(found, names[s.reference], s) for s in event.spans]
            outer = False if False in part else conjoin([*part, self._pick(found, event.picked)])
            if outer is not False and event.where.parts:
                inner = {**names, event.name: found} if event.name else names
                now_used = {**used, found.fact: used.get(found.fact, set()) | {concept}}
                outer = conjoin([outer, self._criterion(event.where, inner, now_used)])
            parts.append(outer)
        most = math.inf if event.at_most is None else event.at_most
        return count(event.at_least, most, parts)

    def _occurrences(self, concept: str) -> list[Occurrence]:
        if concept not in self.by_concept:
            self.by_concept[concept] = self._list(concept)
        return self.by_concept[concept]

    def _list(self, concept: str) -> list[Occurrence]:
        return [
            Occurrence(
                row["fact"],
                self._place(("fact", row["fact"]), (row["lower"], row["upper"])),
                row["lower"],
                row["upper"],
                row["ordinal"],
                row["value"],
            )
            for row in self.occurrences.get(concept, ())
        ]

    def _pick(self, found: Occurrence, picked: Picked) -> Formula:
        """Return that the occurrence has the value, and is the one in order that is meant."""
        key = (picked, found.fact)
        if key not in self.picked:
            self.picked[key] = conjoin([self._fits(found, picked), self._ordered(found, picked)])
        return self.picked[key]

    def _fits(self, found: Occurrence, picked: Picked) -> Formula:
        if picked.value is None:
            return True
        return self._number(("value", found.fact), found.value, picked.value)

    def _ordered(self, found: Occurrence, picked: Picked) -> Formula:
        if picked.which == lang.ANY:
            return True
        before: list[Formula] = []
        for other in self._occurrences(picked.concept):
            if other.fact == found.fact:
                continue
            self.budget.spend(1)
            pair = (found, other) if picked.which == lang.LAST else (other, found)
            before.append(conjoin([self._fits(other, picked), self._precedes(*pair)]))
        rank = 1 if picked.which == lang.LAST else picked.which
        return count(rank - 1, rank - 1, before)

    def _precedes(self, first: Occurrence, second: Occurrence) -> Formula:
        return self._apart(first, second, Interval(high=0, high_open=first.rank > second.rank))

    def _related(self, found: Occurrence, reference: Occurrence, span: Span) -> Formula:
        return self._apart(found, reference, scale(span.hours))

    def _apart(self, first: Occurrence, second: Occurrence, allowed: Interval) -> Formula:
        if first.place == second.place:
            return allowed.includes(0.0)
        ends = first.lower - second.upper, first.upper - second.lower
        return self._difference(first.place, second.place, ends, allowed)

    def _difference(self, x: int, y: int, ends: tuple[float, float], allowed: Interval) -> Formula:
        """Return that x − y, which is between `ends`, is allowed."""
        decided = allowed.decide(*ends)
        if decided is not None:
            return decided
        parts: list[Formula] = []
        if Interval(low=allowed.low, low_open=allowed.low_open).decide(*ends) is None:
            parts.append(Atom(y, x, (-allowed.low, -int(allowed.low_open))))
        if Interval(high=allowed.high, high_open=allowed.high_open).decide(*ends) is None:
            parts.append(Atom(x, y, (allowed.high, -int(allowed.high_open))))
        return conjoin(parts)
