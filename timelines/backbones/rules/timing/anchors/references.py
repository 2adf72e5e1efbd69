"""Find the occurrence that a phrase refers to.

Examples: "after intubation", "an hour before the procedure".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from timelines.backbones.rules.timing.anchors.concepts import concepts, numbers
from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.domain import Lane, Occurrence, TaggedNote

#: An occurrence this long before admission is history, not a step of the stay.
_HISTORY = -24.0 * 14


_BESIDE = re.compile(
    r"\s(?:before|after|since|during|for|due to|following|prior to|with|until|despite|because"
    r" of|on)\s.*$",
    re.IGNORECASE | re.DOTALL,
)
_PARENTHESIS = re.compile(r"\([^()]*\)")


def _head(phrase: str) -> str:
    return _BESIDE.sub("", _PARENTHESIS.sub(" ", phrase))


@dataclass(frozen=True)
class ReferenceIndex:
    """Occurrences with their canonical tokens.

    Estimates are those of the previous pass and of this one so far.
    """

    note: TaggedNote
    estimates: Mapping[str, Estimate]

    def find(
        self,
        phrase: str,
        at: int,
        near: float | None = None,
        recent: bool = True,
        whole: bool = False,
    ) -> tuple[Occurrence, Estimate] | None:
        """Return the dated occurrence that `phrase` most likely refers to.

        The phrase is at offset `at`. Half of the phrase's concepts must recur in the occurrence. In
        a tie, the one nearest in time to `near` (hours) is chosen, else the nearest in the text.
        """
        wanted = concepts(phrase)
        if not wanted:
            return None
        best: tuple[tuple[float, ...], Occurrence, Estimate] | None = None
        for occurrence in self._find_sharing(wanted):
            estimate = self.estimates.get(occurrence.uid)
            if (
                estimate is None
                or estimate.time is None
                or occurrence.start is None
                or occurrence.end is None
            ):
                continue
            if occurrence.start <= at < occurrence.end or (recent and estimate.time < _HISTORY):
                continue
            shared = wanted & self._tokens(occurrence)
            if (2 * len(shared) < len(wanted)) or (whole and shared != wanted):
                continue
            before = occurrence.start < at
            rank = (
                float(len(shared)),
                float(estimate.strength >= Strength.RELATIVE),
                float(occurrence.lane in (Lane.PROCEDURE, Lane.TRANSFER)),
                0.0 if near is None else -round(abs(estimate.time - near), 1),
                float(before),
                -float(abs(occurrence.start - at)),
            )
            if best is None or rank > best[0]:
                best = rank, occurrence, estimate
        return None if best is None else (best[1], best[2])

    def same(
        self,
        occurrence: Occurrence,
        among: Callable[[Occurrence], bool],
        earliest: bool,
        likeness: float = 1.2,
        figures_needed: bool = False,
    ) -> tuple[Occurrence, Estimate] | None:
        """Return a better dated mention of the same occurrence.

        Only mentions that `among` admits are considered. `earliest`: the first in time of those
        that are alike enough, recent ones before old history; otherwise the most alike. Differing
        figures exclude a mention.
        """
        mine, figures = self._tokens(occurrence), numbers(occurrence.mention)
        if not mine:
            return None
        best: tuple[tuple[float, ...], Occurrence, Estimate] | None = None
        for other in self._find_sharing(mine):
            estimate = self.estimates.get(other.uid)
            if (
                other.uid == occurrence.uid
                or estimate is None
                or estimate.time is None
                or not among(other)
            ):
                continue
            if other.polarity.denied != occurrence.polarity.denied:
                continue
            theirs, values = self._tokens(other), numbers(other.mention)
            shared = mine & theirs
            if not shared or (figures and values and not figures & values):
                continue
            if figures_needed and figures and not figures & values:
                continue
            found = (
                len(shared) / min(len(mine), len(theirs))
                + len(shared) / len(mine | theirs)
                + (0.6 if figures & values else 0.0)
            )
            if found < likeness:
                continue
            if earliest:
                rank = (float(estimate.time >= _HISTORY), -round(estimate.time, 1), found)
            else:
                rank = (round(found, 3), float(estimate.strength), -estimate.time)
            if best is None or rank > best[0]:
                best = rank, other, estimate
        return None if best is None else (best[1], best[2])

    def _find_sharing(self, wanted: frozenset[str]) -> list[Occurrence]:
        """Return the occurrences that share a concept, in inventory order.

        No other can be meant.
        """
        occurrences = self.note.inventory.occurrences
        return [
            occurrences[n]
            for n in sorted(
                {n for concept in wanted for n in self._concept_places.get(concept, ())}
            )
        ]

    @cached_property
    def _concept_places(self) -> dict[str, list[int]]:
        """Concept → places in the inventory."""
        found: dict[str, list[int]] = {}
        for n, occurrence in enumerate(self.note.inventory.occurrences):
            for concept in self._tokens(occurrence):
                found.setdefault(concept, []).append(n)
        return found

    def _tokens(self, occurrence: Occurrence) -> frozenset[str]:
        return _find_concepts(occurrence.mention)


@lru_cache(maxsize=100_000)
def _find_concepts(mention: str) -> frozenset[str]:
    """Return the concepts of the head of the mention.

    "dextrose for hyperkalemia" is dextrose.
    """
    return concepts(_head(mention))
