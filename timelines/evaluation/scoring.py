"""One source in one case under one basis.

It has its pairs, and the numbers from which every pooled figure is made. No Django. Pairing is done
once; thresholds only cut it (protocol section 3, "Matching").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from timelines.evaluation.concordance import PairCounts, count_pairs
from timelines.evaluation.distances import cosine_distance, levenshtein_distance
from timelines.evaluation.matching import greedy_order, match_events
from timelines.evaluation.spans import match_spans
from timelines.evaluation.strata import within_tolerance
from timelines.evaluation.values import WIDEST, Basis, EvaluationSettings, MatchedPair, PlacedEvent

Numbers = NDArray[np.float64]
Events = Sequence[PlacedEvent]


@dataclass(frozen=True, eq=False)
class Paired:
    """The pairs in the order taken, as arrays of one length.

    Times in hours, NaN for N/A. Arrays are small, since a report stores all of them.
    """

    #: Occurrences of the prediction, and rows that all of them cite.
    predicted_events: int
    predicted_rows: int
    references: NDArray[np.intp]
    predictions: NDArray[np.intp]
    distances: Numbers
    reference_times: Numbers
    predicted_times: Numbers
    #: Whether the predicted side cites rows, the reference has rows, and one of the cited is the
    #: reference's.
    cites: NDArray[np.bool_]
    has_rows: NDArray[np.bool_]
    cites_right: NDArray[np.bool_]
    #: Bounds of the predicted side, infinite if open; whether it is stated (1, 0, NaN if not
    #: recorded), and its way of decision.
    lowers: Numbers
    uppers: Numbers
    stated: Numbers
    ways: NDArray[np.object_]

    @classmethod
    def from_triples(
        cls, reference: Events, predicted: Events, pairs: Sequence[tuple[int, int, float]]
    ) -> Paired:
        """From triples (reference index, predicted index, distance)."""
        references = np.array([r for r, _, _ in pairs], dtype=np.intp)
        predictions = np.array([p for _, p, _ in pairs], dtype=np.intp)
        ours, theirs = [reference[r] for r in references], [predicted[p] for p in predictions]
        return cls(
            predicted_events=len(predicted),
            predicted_rows=sum(len(e.rows) for e in predicted),
            references=references,
            predictions=predictions,
            distances=np.array([d for _, _, d in pairs], dtype=np.float64),
            reference_times=_times(ours),
            predicted_times=_times(theirs),
            cites=np.array([bool(e.rows) for e in theirs], dtype=bool),
            has_rows=np.array([bool(e.rows) for e in ours], dtype=bool),
            cites_right=np.array(
                [not set(a.rows).isdisjoint(b.rows) for a, b in zip(ours, theirs, strict=True)],
                dtype=bool,
            ),
            lowers=_numbers([e.lower for e in theirs], -np.inf),
            uppers=_numbers([e.upper for e in theirs], np.inf),
            stated=_numbers([e.stated for e in theirs], np.nan),
            ways=np.array([e.way for e in theirs], dtype=object),
        )

    def __len__(self) -> int:
        return len(self.distances)

    def upto(self, threshold: float | None) -> Paired:
        """The pairs strictly below the threshold; all of them for None."""
        below = np.ones(len(self), dtype=bool) if threshold is None else self.distances < threshold
        if below.all():
            return self
        cut = {name: getattr(self, name)[below] for name in _ARRAYS}
        return Paired(self.predicted_events, self.predicted_rows, **cut)

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
        """Return how many of these are within the tolerance."""
        return int(
            within_tolerance(
                self.reference_times[self.placed], self.predicted_times[self.placed]
            ).sum()
        )

    @cached_property
    def order(self) -> PairCounts:
        return count_pairs(
            self.reference_times[self.placed].tolist(), self.predicted_times[self.placed].tolist()
        )

    @property
    def asked_time(self) -> int:
        """Pairs whose reference has a time."""
        return int((~np.isnan(self.reference_times)).sum())

    @property
    def evidence(self) -> tuple[int, int, int]:
        """Count pairs by the rows that they cite.

        (pairs that cite rows, pairs whose reference has rows, pairs that cite one of the
        reference's rows).
        """
        return int(self.cites.sum()), int(self.has_rows.sum()), int(self.cites_right.sum())


_ARRAYS = tuple(
    f.name for f in fields(Paired) if f.name not in ("predicted_events", "predicted_rows")
)


def list_matches(paired: Paired, reference: Events, predicted: Events) -> tuple[MatchedPair, ...]:
    """Return the pairs as a drill-down shows them.

    The events are those that were paired.
    """
    triples = zip(
        paired.references.tolist(),
        paired.predictions.tolist(),
        paired.distances.tolist(),
        strict=True,
    )
    return tuple(MatchedPair(reference[r].key, predicted[p].key, d) for r, p, d in triples)


def has_span(event: PlacedEvent) -> bool:
    """Return whether it points into the note."""
    return event.start is not None and event.end is not None


def pair_by_span(reference: Events, predicted: Events, iou: float) -> Paired:
    """One-to-one by overlap, largest first; the distance of a pair is 1 − IoU."""
    found = match_spans([_span(e) for e in reference], [_span(e) for e in predicted], iou)
    return Paired.from_triples(
        reference, predicted, [(r, p, 1.0 - overlap) for r, p, overlap in found]
    )


def pair_by_distance(
    reference: Events, predicted: Events, distance: Numbers, settings: EvaluationSettings
) -> Paired:
    """Return all pairs up to WIDEST of the whole greedy matching.

    For an optimal assignment, return its pairs at the report's threshold.
    """
    if settings.method == "greedy":
        return Paired.from_triples(
            reference, predicted, [p for p in greedy_order(distance) if p[2] < WIDEST]
        )
    pairs = match_events(distance, settings.threshold, settings.method)
    return Paired.from_triples(
        reference, predicted, [(r, p, float(distance[r, p])) for r, p in pairs]
    )


def mention_distance(
    basis: Basis, reference: Events, predicted: Events, vectors: dict[str, Numbers] | None
) -> Numbers:
    """Return (n_ref, n_pred) distances of mentions.

    `vectors` has one for each mention on basis `embedding`.
    """
    refs, preds = [e.mention for e in reference], [e.mention for e in predicted]
    if not refs or not preds:
        return np.empty((len(refs), len(preds)))
    if basis is Basis.LEVENSHTEIN:
        return levenshtein_distance(refs, preds)
    assert vectors is not None
    return cosine_distance(
        np.stack([vectors[m] for m in refs]), np.stack([vectors[m] for m in preds])
    )


def _span(event: PlacedEvent) -> tuple[int, int] | None:
    return None if event.start is None or event.end is None else (event.start, event.end)


def _times(events: Sequence[PlacedEvent]) -> Numbers:
    return _numbers([e.time for e in events], np.nan)


def _numbers(values: Sequence[float | None], missing: float) -> Numbers:
    return np.array([missing if v is None else v for v in values], dtype=np.float64)
