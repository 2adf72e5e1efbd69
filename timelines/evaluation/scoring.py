"""One source in one case under one basis: what was paired, and the numbers that every pooled figure is made of.

No Django. Pairing is done once; thresholds only cut it (protocol section 3, "Matching").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from timelines.evaluation.concordance import PairCounts, count_pairs
from timelines.evaluation.distances import cosine_distance, levenshtein_distance
from timelines.evaluation.matching import Method, greedy_order, match_events
from timelines.evaluation.spans import match_spans
from timelines.evaluation.strata import within_tolerance
from timelines.evaluation.values import Basis, EvaluationSettings, MatchedPair, PlacedEvent

Numbers = NDArray[np.float64]
Events = Sequence[PlacedEvent]

#: The widest threshold of the sweep: pairs beyond it count nowhere.
WIDEST = 0.5


@dataclass(frozen=True)
class Paired:
    """Pairs (reference index, predicted index, distance) in the order taken; times in hours, NaN for N/A."""

    reference: Events
    predicted: Events
    pairs: tuple[tuple[int, int, float], ...]

    def upto(self, threshold: float | None) -> Paired:
        """The pairs strictly below the threshold; all of them for None."""
        if threshold is None:
            return self
        return Paired(self.reference, self.predicted, tuple(p for p in self.pairs if p[2] < threshold))

    @cached_property
    def reference_times(self) -> Numbers:
        return _times([self.reference[r] for r, _, _ in self.pairs])

    @cached_property
    def predicted_times(self) -> Numbers:
        return _times([self.predicted[p] for _, p, _ in self.pairs])

    @cached_property
    def placed(self) -> NDArray[np.bool_]:
        """Which pairs have a time on both sides."""
        return ~(np.isnan(self.reference_times) | np.isnan(self.predicted_times))

    @cached_property
    def errors(self) -> Numbers:
        """|Δ| in hours of the pairs with both times."""
        return np.abs(self.reference_times - self.predicted_times)[self.placed]

    @cached_property
    def tolerated(self) -> int:
        """How many of these lie within the tolerance."""
        return int(within_tolerance(self.reference_times[self.placed], self.predicted_times[self.placed]).sum())

    @cached_property
    def order(self) -> PairCounts:
        return count_pairs(list(self.reference_times[self.placed]), list(self.predicted_times[self.placed]))

    @cached_property
    def asked_time(self) -> int:
        """Pairs whose reference has a time."""
        return int((~np.isnan(self.reference_times)).sum())

    @cached_property
    def evidence(self) -> tuple[int, int, int]:
        """(pairs that cite rows, pairs whose reference has rows, pairs that cite one of the reference's rows)."""
        rows = [(set(self.reference[r].rows), set(self.predicted[p].rows)) for r, p, _ in self.pairs]
        return sum(bool(cited) for _, cited in rows), sum(bool(wanted) for wanted, _ in rows), sum(bool(a & b) for a, b in rows)

    def matched(self) -> tuple[MatchedPair, ...]:
        """The pairs as a drill-down shows them."""
        return tuple(
            MatchedPair(self.reference[r].key, self.predicted[p].key, d, self.reference[r].time, self.predicted[p].time)
            for r, p, d in self.pairs
        )


def has_span(event: PlacedEvent) -> bool:
    """Whether it points into the note."""
    return event.start is not None and event.end is not None


def pair_by_span(reference: Events, predicted: Events, iou: float) -> Paired:
    """One-to-one by overlap, largest first; the distance of a pair is 1 − IoU."""
    found = match_spans([_span(e) for e in reference], [_span(e) for e in predicted], iou)
    return Paired(reference, predicted, tuple((r, p, 1.0 - overlap) for r, p, overlap in found))


def pair_by_distance(reference: Events, predicted: Events, distance: Numbers, settings: EvaluationSettings) -> Paired:
    """All pairs up to WIDEST of the whole greedy matching, or those of the optimal assignment at the report's threshold."""
    if settings.method == "greedy":
        return Paired(reference, predicted, tuple(p for p in greedy_order(distance) if p[2] < WIDEST))
    pairs = match_events(distance, settings.threshold, cast(Method, settings.method))
    return Paired(reference, predicted, tuple((r, p, float(distance[r, p])) for r, p in pairs))


def mention_distance(basis: Basis, reference: Events, predicted: Events, vectors: dict[str, Numbers] | None) -> Numbers:
    """(n_ref, n_pred) distances of mentions. `vectors` holds one for each mention on basis `embedding`."""
    refs, preds = [e.mention for e in reference], [e.mention for e in predicted]
    if not refs or not preds:
        return np.empty((len(refs), len(preds)))
    if basis is Basis.LEVENSHTEIN:
        return levenshtein_distance(refs, preds)
    assert vectors is not None
    return cosine_distance(np.stack([vectors[m] for m in refs]), np.stack([vectors[m] for m in preds]))


def _span(event: PlacedEvent) -> tuple[int, int] | None:
    return None if event.start is None or event.end is None else (event.start, event.end)


def _times(events: Sequence[PlacedEvent]) -> Numbers:
    return np.array([np.nan if e.time is None else e.time for e in events], dtype=np.float64)
