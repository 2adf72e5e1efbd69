"""The pairs of an evaluation in one case, with their mentions.

Mentions are read from the timelines that were compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q

from ehr.models import Encounter
from timelines.access.authoring import CONSENSUS, CURATED, PEOPLES
from timelines.access.references import ANY_CONSENSUS
from timelines.domain import TimelineKind, tolerance
from timelines.evaluation.values import Basis, CaseResult, CaseSource, PlacedEvent, SourceKey
from timelines.evaluations.data import load_events
from timelines.models import Evaluation, Timeline


@dataclass(frozen=True)
class Compared:
    """A timeline that was compared, with its entries by key."""

    timeline: Timeline
    events: Mapping[str, PlacedEvent]


@dataclass(frozen=True, slots=True)
class PairRow:
    """A matched pair with both sides' words; hours from admission.

    `error` and `tolerance` are None if a side has no time.
    """

    reference: PlacedEvent
    predicted: PlacedEvent
    distance: float
    error: float | None
    tolerance: float | None

    @property
    def within(self) -> bool:
        return self.error is not None and self.tolerance is not None and self.error < self.tolerance


def find_source(case: CaseResult, key: SourceKey, basis: Basis) -> CaseSource | None:
    """Return the evaluation's result for a timeline of this case."""
    return next((s for s in case.sources if s.key == key and s.basis is basis), None)


def compared_timeline(
    evaluation: Evaluation, encounter: Encounter, source: CaseSource
) -> Compared | None:
    """Return the timeline behind a result, None if it was deleted.

    It is the newest of its name with as many entries and every key of the pairs.
    """
    return _load_compared(
        evaluation,
        encounter,
        source.key,
        source.predicted_events,
        {p.predicted for p in source.pairs},
    )


def reference_timeline(
    evaluation: Evaluation, encounter: Encounter, source: CaseSource
) -> Compared | None:
    """The reference that a result was measured against."""
    key = SourceKey(evaluation.reference, TimelineKind.REFERENCE.value)
    return _load_compared(
        evaluation, encounter, key, source.reference_events, {p.reference for p in source.pairs}
    )


def pair_rows(source: CaseSource, reference: Compared, predicted: Compared) -> list[PairRow]:
    """The pairs in order of the reference's time, those without one last."""
    rows = [
        _row(reference.events[pair.reference], predicted.events[pair.predicted], pair.distance)
        for pair in source.pairs
        if pair.reference in reference.events and pair.predicted in predicted.events
    ]
    return sorted(rows, key=lambda row: (row.reference.time is None, row.reference.time or 0.0))


def find_unpaired(
    source: CaseSource, reference: Compared, predicted: Compared
) -> tuple[list[PlacedEvent], list[PlacedEvent]]:
    """Return the occurrences without a partner, in order of time.

    (reference occurrences, predicted occurrences).
    """
    known, guessed = {p.reference for p in source.pairs}, {p.predicted for p in source.pairs}
    missed = [e for key, e in reference.events.items() if key not in known]
    extra = [e for key, e in predicted.events.items() if key not in guessed]
    return sorted(missed, key=_time_key), sorted(extra, key=_time_key)


def _time_key(event: PlacedEvent) -> tuple[bool, float]:
    return event.time is None, event.time or 0.0


def _row(reference: PlacedEvent, predicted: PlacedEvent, distance: float) -> PairRow:
    if reference.time is None or predicted.time is None:
        return PairRow(reference, predicted, distance, None, None)
    error = abs(predicted.time - reference.time)
    return PairRow(reference, predicted, distance, error, tolerance(reference.time, predicted.time))


def _load_compared(
    evaluation: Evaluation, encounter: Encounter, key: SourceKey, size: int, keys: set[str]
) -> Compared | None:
    named = Q(source=key.source)
    if key.source.startswith(PEOPLES):
        # A superseded submission has its source's name and a number.
        named |= Q(source__startswith=f"{key.source}#")
    if key.source == ANY_CONSENSUS:
        named |= Q(source__startswith=CONSENSUS)
    if key.source.startswith(CURATED):
        # A case without corrections was compared as it was reconstructed.
        named |= Q(source=key.source.removeprefix(CURATED))
    found = Timeline.objects.filter(
        named, encounter=encounter, kind=key.kind, alternative=key.alternative
    )
    if evaluation.finished_at is not None:
        found = found.filter(created_at__lte=evaluation.finished_at)
    for timeline in found.order_by("-case_run_id", "-created_at", "-pk"):
        events = {e.key: e for e in load_events([timeline])[timeline.pk]}
        if len(events) == size and keys <= events.keys():
            return Compared(timeline, events)
    return None
