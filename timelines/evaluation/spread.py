"""Compare timelines with several references of the same cases.

How far the figures of a timeline differ between references says how much of an error belongs to the
reference and not to the timeline. No Django.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from timelines.evaluation.values import (
    Basis,
    Estimate,
    ReferenceResult,
    Report,
    SourceKey,
    SourceResult,
)

#: Metrics of the comparison. The largest error, on which AULTC depends, differs between references,
#: so the area is the one with a fixed horizon.
SPREAD_METRICS = (
    "match_rate",
    "concordance",
    "aultc_ref",
    "median_error",
    "within_tolerance",
    "evidence_recall",
)


@dataclass(frozen=True)
class Spread:
    """The lowest and highest figures of one timeline over several references.

    `figures` has metrics with at least one value: (lowest, highest).
    """

    key: SourceKey
    references: int
    figures: Mapping[str, tuple[float, float]]


def summarise_reference(report: Report) -> ReferenceResult:
    """Return what is stored of a report against one of several references.

    Sweeps and distributions of errors are left out, and figures that are not compared.
    """
    return ReferenceResult(
        report.reference, report.cases, tuple(summarise_result(r) for r in report.results)
    )


def find_spread(report: Report, basis: Basis) -> list[Spread]:
    """Return the spread of every timeline, in the report's order.

    A reference is compared with the others, so it is a timeline, too.
    """
    found: dict[SourceKey, list[SourceResult]] = {}
    for reference in report.references:
        for result in reference.results:
            if result.basis is basis:
                found.setdefault(result.key, []).append(result)
    return [
        Spread(key, len(results), _range_of(results))
        for key, results in found.items()
        if key.alternative == 1
    ]


def _range_of(results: list[SourceResult]) -> dict[str, tuple[float, float]]:
    values = {
        metric: [
            estimate.value
            for result in results
            if (estimate := result.available.get(metric)) is not None and estimate.value is not None
        ]
        for metric in SPREAD_METRICS
    }
    return {metric: (min(seen), max(seen)) for metric, seen in values.items() if seen}


def summarise_result(result: SourceResult) -> SourceResult:
    """Return the figures of a source that references are compared by."""
    return replace(
        result,
        available=_choose_metrics(result.available),
        missing_as_zero=_choose_metrics(result.missing_as_zero),
        cumulative=(),
        by_distance=(),
        sweep=(),
        error_cdf=(),
    )


def _choose_metrics(figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    return {metric: figures[metric] for metric in SPREAD_METRICS if metric in figures}
