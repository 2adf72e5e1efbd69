"""The data that the plots of an evaluation draw, for JSON. No Django.

Scripts choose only colours and the places of labels. Hours from admission; shares 0…1. Source:
protocol section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from timelines.evaluation.tables import STEP_WORDS, metric_words
from timelines.evaluation.values import (
    Basis,
    BoundsResult,
    Estimate,
    FunnelResult,
    Report,
    RhoPoint,
    SourceKey,
    SourceResult,
    Step,
)
from timelines.presentation.evaluation.tables import is_primary, kind_words, main_results

#: The five spans of time that cumulative error curves are read at: (hours, words).
HORIZONS = ((1.0, "1 h"), (24.0, "1 d"), (168.0, "1 wk"), (720.0, "1 mo"), (8760.0, "1 y"))
#: The share of reference times that bounds are meant to contain.
NOMINAL_COVERAGE = 0.9
RHO_METRICS = ("concordance", "aultc", "median_error")


def payload(report: Report, basis: Basis) -> dict[str, Any]:
    """Return every curve of one basis.

    `tone` numbers the sources, so that a source has one colour on every plot.
    """
    results = main_results(report, basis)
    tones = {
        source: tone
        for tone, source in enumerate(dict.fromkeys(r.key.source for r in report.results))
    }
    return {
        "threshold": report.settings.threshold,
        "sweep": [
            {**_describe_source(r.key, tones), "points": _sweep(r, report.settings.threshold)}
            for r in results
            if r.sweep
        ],
        "errors": [
            {**_describe_source(r.key, tones), "points": _thin_curve(r)}
            for r in results
            if r.error_cdf
        ],
        "horizons": [[hours, words] for hours, words in HORIZONS],
        "bands": _bands(results, tones),
        "rho": _rho(report.rho, tones),
        "rhoMetrics": [[metric, metric_words(metric, basis)] for metric in RHO_METRICS],
        "reliability": _reliability(report.bounds, basis, tones),
        "nominal": NOMINAL_COVERAGE,
        "funnel": _funnel(report.funnel, tones),
        "funnelSteps": list(STEP_WORDS.values()),
        "recovery": metric_words("match_rate", basis),
    }


def _describe_source(key: SourceKey, tones: dict[str, int]) -> dict[str, Any]:
    return {
        "label": f"{key.source} · {kind_words(key)}",
        "source": key.source,
        "kind": key.kind,
        "tone": tones.get(key.source, 0),
    }


def _sweep(result: SourceResult, threshold: float) -> list[list[Any]]:
    """Return one list for each step of the sweep.

    [threshold, match rate, concordance, AULTC, whether it is the report's threshold].
    """
    return [
        [*(_round(v) for v in step), int(abs(step[0] - threshold) < 1e-9)] for step in result.sweep
    ]


def _thin_curve(result: SourceResult) -> list[list[float | None]]:
    return [[_round(hours), _round(share)] for hours, share in result.error_cdf]


def _bands(results: Sequence[SourceResult], tones: dict[str, int]) -> list[dict[str, Any]]:
    """Return the median error by distance from admission.

    One list for each timeline and band: [words, median, low, high].
    """
    found = []
    for result in results:
        points = [[words, *_three(median)] for words, _, median, _ in result.by_distance]
        if any(point[1] is not None for point in points):
            found.append({**_describe_source(result.key, tones), "points": points})
    return found


def _rho(points: Sequence[RhoPoint], tones: dict[str, int]) -> list[dict[str, Any]]:
    found = []
    for source in dict.fromkeys(p.source for p in points):
        own = sorted((p for p in points if p.source == source), key=lambda p: p.rho)
        values = {
            m: [[p.rho, *_three(p.metrics[m])] for p in own if m in p.metrics] for m in RHO_METRICS
        }
        found.append(
            {
                "label": source,
                "source": source,
                "kind": "revised",
                "tone": tones.get(source, 0),
                "points": values,
            }
        )
    return found


def _funnel(results: Sequence[FunnelResult], tones: dict[str, int]) -> list[dict[str, Any]]:
    """Return the steps of each source over all kinds: [share, count, all]."""
    return [
        {
            **_describe_source(r.key, tones),
            "points": [
                [_round(r.reached[step] / r.occurrences), r.reached[step], r.occurrences]
                for step in Step
            ],
        }
        for r in results
        if not r.kind
    ]


def _reliability(
    results: Sequence[BoundsResult], basis: Basis, tones: dict[str, int]
) -> list[dict[str, Any]]:
    """Return coverage by width of bounds, for each timeline of the main table.

    One list for each tenth: [median width, coverage, low, high, occurrences, narrowest, widest].
    """
    return [
        {
            **_describe_source(r.key, tones),
            "points": [
                [
                    _round(w.median),
                    *_three(w.coverage),
                    w.coverage.n,
                    _round(w.narrowest),
                    _round(w.widest),
                ]
                for w in r.widths
            ],
        }
        for r in results
        if r.basis is basis and is_primary(r.key) and r.widths
    ]


def _three(estimate: Estimate) -> list[float | None]:
    return [_round(estimate.value), _round(estimate.low), _round(estimate.high)]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 5)
