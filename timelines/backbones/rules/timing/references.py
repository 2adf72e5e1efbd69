"""Finds the occurrence that a phrase refers to: "after intubation", "an hour before the procedure"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from timelines.backbones.rules.timing.concepts import concepts, numbers
from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.domain import Lane, Occurrence, TaggedNote

#: An occurrence this long before admission is history, not a step of the stay.
_HISTORY = -24.0 * 14


@dataclass(frozen=True)
class ReferenceIndex:
    """Occurrences with their canonical tokens; estimates are those of the pass before and of this one so far."""

    note: TaggedNote
    estimates: Mapping[str, Estimate]

    def find(self, phrase: str, at: int, recent: bool = True) -> tuple[Occurrence, Estimate] | None:
        """The dated occurrence that `phrase`, written at offset `at`, most likely refers to.

        Half of the phrase's concepts must recur in it. Ties go to the nearest before, then to the nearest after.
        """
        wanted = concepts(phrase)
        if not wanted:
            return None
        best: tuple[tuple[float, ...], Occurrence, Estimate] | None = None
        for occurrence in self.note.inventory:
            estimate = self.estimates.get(occurrence.uid)
            if estimate is None or estimate.time is None or occurrence.start is None or occurrence.end is None:
                continue
            if occurrence.start <= at < occurrence.end or (recent and estimate.time < _HISTORY):
                continue
            shared = wanted & self._tokens(occurrence)
            if 2 * len(shared) < len(wanted):
                continue
            before = occurrence.start < at
            rank = (
                float(len(shared)),
                float(estimate.strength >= Strength.RELATIVE),
                float(occurrence.lane in (Lane.PROCEDURE, Lane.TRANSFER)),
                float(before),
                -float(abs(occurrence.start - at)),
            )
            if best is None or rank > best[0]:
                best = rank, occurrence, estimate
        return None if best is None else (best[1], best[2])

    def same(self, occurrence: Occurrence, among: set[str], earliest: bool) -> tuple[Occurrence, Estimate] | None:
        """A better dated mention of the same occurrence among `among`: most shared concepts, equal figures."""
        mine, figures = self._tokens(occurrence), numbers(occurrence.mention)
        if not mine:
            return None
        best: tuple[tuple[float, ...], Occurrence, Estimate] | None = None
        for other in self.note.inventory:
            estimate = self.estimates.get(other.uid)
            if other.uid not in among or other.uid == occurrence.uid or estimate is None or estimate.time is None:
                continue
            if other.polarity is not occurrence.polarity:
                continue
            theirs, values = self._tokens(other), numbers(other.mention)
            shared = mine & theirs
            if not shared or (figures and values and not figures & values):
                continue
            likeness = len(shared) / min(len(mine), len(theirs)) + len(shared) / len(mine | theirs)
            if figures & values:
                likeness += 0.6
            if likeness < 1.3:
                continue
            rank = (round(likeness, 3), float(estimate.strength), -estimate.time if earliest else estimate.time)
            if best is None or rank > best[0]:
                best = rank, other, estimate
        return None if best is None else (best[1], best[2])

    def _tokens(self, occurrence: Occurrence) -> frozenset[str]:
        surface = "" if occurrence.start is None else self.note.text[occurrence.start : occurrence.end]
        return concepts(occurrence.mention) | concepts(surface)
