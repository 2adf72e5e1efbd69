"""Show at which step evidence is lost.

Source: protocol section 3, "Evidence funnel".

Each step is checked for every matched occurrence whose reference cites rows. The steps have one
denominator and need not be monotone: a row that was found for another occurrence is printed, too.
No Django.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from timelines.domain import Lane, differs
from timelines.evaluation.scoring import Paired
from timelines.evaluation.values import (
    EvaluatedCase,
    FunnelLine,
    FunnelResult,
    Lost,
    PlacedEvent,
    SourceKey,
    Step,
    Trail,
)
from timelines.pipeline.retrieval import KEPT, OUTSIDE_TOP

#: The kind of an occurrence that has none.
NO_KIND = "unknown"
_KINDS = ("", *(lane.value for lane in Lane), NO_KIND)


def follow(paired: Paired, case: EvaluatedCase, key: SourceKey) -> tuple[FunnelLine, ...]:
    """Return the funnel of one timeline of a case, in the order of its pairs.

    The timeline has a trail in the case. Files of references name no kinds, so their occurrences
    are all stored as findings; they take the kinds of the occurrences that they are paired with.
    """
    predicted = case.timelines[key]
    kinds_known = any(e.lane not in ("", Lane.FINDING) for e in case.reference)
    pairs = zip(paired.references.tolist(), paired.predictions.tolist(), strict=True)
    return tuple(
        _line(
            case.reference[r],
            predicted[p],
            case.reference[r].lane if kinds_known else predicted[p].lane,
            case.trails[key],
            case.row_series,
        )
        for r, p in pairs
        if case.reference[r].rows
    )


def _line(
    reference: PlacedEvent,
    predicted: PlacedEvent,
    kind: str,
    trail: Trail,
    row_series: Mapping[int, str],
) -> FunnelLine:
    series = {row_series[row] for row in reference.rows if row in row_series}
    fates = trail.fates.get(predicted.key, {})
    right = [fates[name] for name in series if name in fates]
    checks = {
        Step.CANDIDATE: bool(right),
        Step.RETAINED: KEPT in right,
        Step.PRINTED: not trail.printed.isdisjoint(reference.rows),
        Step.CITED: not set(predicted.rows).isdisjoint(reference.rows),
        Step.IN_TIME: not differs(reference.time, predicted.time),
    }
    failed = next((step for step, passed in checks.items() if not passed), None)
    return FunnelLine(
        reference.key,
        predicted.key,
        kind or NO_KIND,
        reference.time,
        predicted.time,
        tuple(step for step, passed in checks.items() if passed),
        None if failed is None else _reason(failed, right, reference.rows, predicted, trail),
    )


def _reason(
    failed: Step,
    right: Collection[str],
    rows: Collection[int],
    predicted: PlacedEvent,
    trail: Trail,
) -> Lost:
    """Return why the step failed.

    `right` are the fates of the right series, `rows` the rows that the reference cites. A row that
    is not printed is over budget only if it was chosen for the occurrence.
    """
    if failed is Step.CANDIDATE:
        return Lost.NOT_FOUND
    if failed is Step.RETAINED:
        return Lost.OUTSIDE_TOP if OUTSIDE_TOP in right else Lost.BELOW_THRESHOLD
    if failed is Step.PRINTED:
        chosen = not set(rows).isdisjoint(trail.over_budget.get(predicted.key, ()))
        return Lost.OVER_BUDGET if chosen else Lost.NOT_SELECTED
    if failed is Step.CITED:
        return Lost.OTHER_ROW if predicted.rows else Lost.NOT_CITED
    return Lost.TIME_DIFFERS


@dataclass
class FunnelCounts:
    """Counts lines by source and kind; lines themselves are not kept."""

    _all: Counter[tuple[SourceKey, str]] = field(default_factory=Counter)
    _reached: Counter[tuple[SourceKey, str, Step]] = field(default_factory=Counter)
    _lost: Counter[tuple[SourceKey, str, Lost]] = field(default_factory=Counter)

    def add(self, key: SourceKey, lines: Iterable[FunnelLine]) -> None:
        """Count lines of one timeline, each under its kind and under all kinds."""
        for line in lines:
            for kind in ("", line.kind):
                self._all[key, kind] += 1
                self._reached.update((key, kind, step) for step in line.reached)
                if line.lost is not None:
                    self._lost[key, kind, line.lost] += 1

    @property
    def keys(self) -> set[SourceKey]:
        """Return the sources that have any line."""
        return {key for key, _ in self._all}

    def results(self, keys: Iterable[SourceKey]) -> tuple[FunnelResult, ...]:
        """Return the counts in this order of sources, all kinds first."""
        return tuple(
            FunnelResult(
                key,
                kind,
                self._all[key, kind],
                {step: self._reached[key, kind, step] for step in Step},
                {reason: self._lost[key, kind, reason] for reason in Lost},
            )
            for key in keys
            for kind in _KINDS
            if self._all[key, kind]
        )
