"""Measure how far two authors of one case agree. No Django.

It says which occurrences both have, and how their times compare. Occurrences pair by their spans
(IoU ≥ 0.4, as in span recall), the remaining ones by their names (normalised Levenshtein distance
below 0.1). Neither author is the truth: exchanging the two changes no figure, only the signs of
differences. Source: protocol section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from timelines.domain import Lane
from timelines.evaluation.concordance import concordance
from timelines.evaluation.distances import levenshtein_distance
from timelines.evaluation.matching import match_events
from timelines.evaluation.spans import match_spans
from timelines.evaluation.strata import cumulative_shares, within_tolerance

IOU = 0.4
NAME_DISTANCE = 0.1
BY_SPAN, BY_NAME = "span", "name"


@dataclass(frozen=True, slots=True)
class Authored:
    """One occurrence as one author has it.

    `time` is in hours from admission, None for N/A.
    """

    uid: str
    mention: str
    start: int | None
    end: int | None
    polarity: str
    time: float | None
    lower: float | None = None
    upper: float | None = None
    known: bool = False
    lane: str = Lane.FINDING.value
    rows: tuple[int, ...] = ()
    context: tuple[str, ...] = ()
    #: Its row in the database; None outside of it.
    pk: int | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        return None if self.start is None or self.end is None else (self.start, self.end)


@dataclass(frozen=True, slots=True)
class Pair:
    """One occurrence that both have.

    `how`: paired by span or by name, with the IoU or the distance as `closeness`.
    """

    first: Authored
    second: Authored
    how: str
    closeness: float

    @property
    def difference(self) -> float | None:
        """Second minus first in hours; None unless both have a time."""
        if self.first.time is None or self.second.time is None:
            return None
        return self.second.time - self.first.time

    @property
    def within(self) -> bool | None:
        """Return whether the times are equal within the protocol's tolerance.

        Two N/A are equal; one N/A is not.
        """
        if self.first.time is None or self.second.time is None:
            return self.first.time is self.second.time
        return bool(within_tolerance(self.first.time, self.second.time))

    @property
    def same_polarity(self) -> bool:
        return self.first.polarity == self.second.polarity


@dataclass(frozen=True)
class Agreement:
    """The comparison of two authors. A figure without data is None."""

    pairs: tuple[Pair, ...]
    only_first: tuple[Authored, ...]
    only_second: tuple[Authored, ...]

    @property
    def shared(self) -> float | None:
        """2 · pairs / occurrences of both: 1 if both have the same occurrences."""
        total = 2 * len(self.pairs) + len(self.only_first) + len(self.only_second)
        return 2 * len(self.pairs) / total if total else None

    @property
    def placed(self) -> tuple[Pair, ...]:
        """Pairs that both have placed at a time."""
        return tuple(p for p in self.pairs if p.difference is not None)

    @property
    def one_na(self) -> int:
        """Pairs that one placed at a time and the other left N/A."""
        return sum((p.first.time is None) != (p.second.time is None) for p in self.pairs)

    @property
    def polarity_differs(self) -> int:
        return sum(not p.same_polarity for p in self.pairs)

    @property
    def concordance(self) -> float | None:
        """Return the share of pairs that both put in the same order.

        Pairs that either author ties are excluded.
        """
        placed = self.placed
        return concordance([p.first.time for p in placed], [p.second.time for p in placed])

    @property
    def differences(self) -> list[float]:
        """|second − first| in hours of the placed pairs, smallest first."""
        return sorted(abs(p.difference) for p in self.placed if p.difference is not None)

    @property
    def median_difference(self) -> float | None:
        found = self.differences
        return float(np.median(found)) if found else None

    @property
    def within_tolerance(self) -> float | None:
        """Share of the placed pairs whose times are equal within the tolerance."""
        placed = self.placed
        return sum(bool(p.within) for p in placed) / len(placed) if placed else None

    @property
    def shares(self) -> list[tuple[str, float | None]]:
        """Return (words, share of differences at most that large).

        From an hour to a year.
        """
        return cumulative_shares(self.differences)


def agreement(first: Sequence[Authored], second: Sequence[Authored]) -> Agreement:
    """Pair the occurrences of two authors.

    Pairs and leftovers come in the order of the first's and the second's list.
    """
    matched = {
        (f, s): (BY_SPAN, iou)
        for f, s, iou in match_spans([o.span for o in first], [o.span for o in second], IOU)
    }
    left_first = [n for n in range(len(first)) if n not in {f for f, _ in matched}]
    left_second = [n for n in range(len(second)) if n not in {s for _, s in matched}]
    if left_first and left_second:
        distance = levenshtein_distance(
            [first[n].mention.casefold() for n in left_first],
            [second[n].mention.casefold() for n in left_second],
        )
        for f, s in match_events(distance, NAME_DISTANCE):
            matched[left_first[f], left_second[s]] = (BY_NAME, float(distance[f, s]))
    taken_first, taken_second = {f for f, _ in matched}, {s for _, s in matched}
    return Agreement(
        tuple(
            Pair(first[f], second[s], how, closeness)
            for (f, s), (how, closeness) in sorted(matched.items())
        ),
        tuple(o for n, o in enumerate(first) if n not in taken_first),
        tuple(o for n, o in enumerate(second) if n not in taken_second),
    )
