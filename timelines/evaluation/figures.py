"""Pooled figures of one source over cases.

Each has its interval from the report's resamples. No Django. The available-case figure excludes
cases without the timeline; the other counts their match rate and concordance as 0 and an error
S_max for each of their timed reference events (protocol section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from timelines.evaluation.aultc import aultc, aultc_ref
from timelines.evaluation.resamples import Resamples
from timelines.evaluation.scoring import Paired
from timelines.evaluation.strata import BANDS, HORIZONS, band_indices, within_tolerance
from timelines.evaluation.values import Estimate

Numbers = NDArray[np.float64]
NO_CASE = "no case has this timeline"
NO_TIME = "no pair has a time on both sides"
NO_ORDER = "no case has two occurrences whose order can be compared"
NO_ROWS = "no paired occurrence cites a row"
NO_REFERENCE_ROWS = "no paired reference occurrence has rows"


@dataclass(frozen=True)
class Cases:
    """One source over all cases of a report, in order.

    A case without such a timeline is None. `reference_sizes` and `reference_timed` count each
    case's reference events, and those with a time.
    """

    paired: Sequence[Paired | None]
    reference_sizes: Sequence[int]
    reference_timed: Sequence[int]
    resamples: Resamples
    s_max: float | None

    @cached_property
    def available(self) -> NDArray[np.bool_]:
        return np.array([p is not None for p in self.paired], dtype=bool)

    @cached_property
    def errors(self) -> list[Numbers]:
        return [np.empty(0) if p is None else p.errors for p in self.paired]

    def counts(self, of: str) -> list[int]:
        """Return one count a case, 0 if the timeline is missing."""
        return [0 if p is None else _COUNTS[of](p) for p in self.paired]

    def sizes(self, *, missing: bool) -> list[int]:
        """Return the number of reference events of each case.

        Without `missing` only of cases that have the timeline.
        """
        return [
            n if here or missing else 0
            for n, here in zip(self.reference_sizes, self.available, strict=True)
        ]

    def orders(self, convention: str, *, missing: bool) -> list[float | None]:
        gone = 0.0 if missing else None
        return [gone if p is None else getattr(p.order, convention) for p in self.paired]

    def errors_with_missing(self) -> list[Numbers]:
        """Return `errors` with S_max for missing cases.

        S_max is added for each timed reference event of a missing case.
        """
        worst = self.s_max or 0.0
        return [
            np.full(timed, worst) if p is None else p.errors
            for p, timed in zip(self.paired, self.reference_timed, strict=True)
        ]

    def only(self, kept: NDArray[np.bool_]) -> Cases:
        """Return the source as if it had the given cases alone.

        Its reference is restricted, too; the resamples stay.
        """
        return replace(
            self,
            paired=[p if k else None for p, k in zip(self.paired, kept, strict=True)],
            reference_sizes=[
                n if k else 0 for n, k in zip(self.reference_sizes, kept, strict=True)
            ],
            reference_timed=[
                n if k else 0 for n, k in zip(self.reference_timed, kept, strict=True)
            ],
        )


_COUNTS = {
    "matched": len,
    "predicted": lambda p: p.predicted_events,
    "placed": lambda p: len(p.errors),
    "asked_time": lambda p: p.asked_time,
    "tolerated": lambda p: p.tolerated,
    "citing": lambda p: p.evidence[0],
    "with_rows": lambda p: p.evidence[1],
    "cited_right": lambda p: p.evidence[2],
}


def metrics(cases: Cases, *, missing: bool = False) -> dict[str, Estimate]:
    """Return every figure of `values.METRICS`.

    With `missing`, cases without the timeline count as the protocol says.
    """
    return {name: estimate(cases, name, missing=missing) for name in FIGURES}


def estimate(cases: Cases, metric: str, *, missing: bool = False) -> Estimate:
    """One figure with its interval."""
    value, samples, n, why = FIGURES[metric](cases, missing)
    if value is None:
        return Estimate(None, n=n, why=why if cases.available.any() else NO_CASE)
    low, high = cases.resamples.interval(samples)
    return Estimate(value, low, high, n)


Figure = tuple[float | None, Numbers, int, str]


def ratio(cases: Cases, above: Sequence[int], below: Sequence[int], why: str) -> Figure:
    total = sum(below)
    return (sum(above) / total if total else None), cases.resamples.ratio(above, below), total, why


def _match_rate(cases: Cases, missing: bool) -> Figure:
    return ratio(
        cases,
        cases.counts("matched"),
        cases.sizes(missing=missing),
        "the reference has no occurrence",
    )


def _precision(cases: Cases, missing: bool) -> Figure:
    return ratio(cases, cases.counts("matched"), cases.counts("predicted"), "nothing was predicted")


def _concordance(cases: Cases, missing: bool, convention: str) -> Figure:
    values = cases.orders(convention, missing=missing)
    known = [v for v in values if v is not None]
    return (
        (float(np.median(known)) if known else None),
        cases.resamples.median_of_cases(values),
        len(known),
        NO_ORDER,
    )


def _aultc(cases: Cases, missing: bool) -> Figure:
    errors = cases.errors_with_missing() if missing else cases.errors
    pooled = _pool(errors)
    if cases.s_max is None or not pooled.size:
        return None, np.empty(0), 0, NO_TIME
    return (
        aultc(pooled, cases.s_max),
        cases.resamples.aultc(errors, cases.s_max),
        pooled.size,
        NO_TIME,
    )


def _aultc_ref(cases: Cases, missing: bool) -> Figure:
    errors = cases.errors_with_missing() if missing else cases.errors
    pooled = _pool(errors)
    if not pooled.size:
        return None, np.empty(0), 0, NO_TIME
    return aultc_ref(pooled), cases.resamples.aultc_ref(errors), pooled.size, NO_TIME


def _median_error(cases: Cases, missing: bool) -> Figure:
    errors = cases.errors_with_missing() if missing else cases.errors
    pooled = _pool(errors)
    return (
        (float(np.median(pooled)) if pooled.size else None),
        cases.resamples.median_error(errors),
        pooled.size,
        NO_TIME,
    )


def _within_tolerance(cases: Cases, missing: bool) -> Figure:
    below = cases.counts("placed")
    if missing:
        below = [
            b if here else timed
            for b, here, timed in zip(below, cases.available, cases.reference_timed, strict=True)
        ]
    return ratio(cases, cases.counts("tolerated"), below, NO_TIME)


def _numeric_share(cases: Cases, missing: bool) -> Figure:
    return ratio(
        cases,
        cases.counts("placed"),
        cases.counts("asked_time"),
        "no paired reference occurrence has a time",
    )


def _evidence_precision(cases: Cases, missing: bool) -> Figure:
    return ratio(cases, cases.counts("cited_right"), cases.counts("citing"), NO_ROWS)


def _evidence_recall(cases: Cases, missing: bool) -> Figure:
    return ratio(cases, cases.counts("cited_right"), cases.counts("with_rows"), NO_REFERENCE_ROWS)


#: Metric → (value, one value a resample, what it counts over, why there is none); the names of
#: `values.METRICS`.
FIGURES = {
    "match_rate": _match_rate,
    "precision": _precision,
    "concordance": lambda c, m: _concordance(c, m, "concordance"),
    "concordance_ref": lambda c, m: _concordance(c, m, "concordance_ref"),
    "aultc": _aultc,
    "aultc_ref": _aultc_ref,
    "median_error": _median_error,
    "within_tolerance": _within_tolerance,
    "numeric_share": _numeric_share,
    "evidence_precision": _evidence_precision,
    "evidence_recall": _evidence_recall,
}


def cumulative_errors(cases: Cases) -> tuple[tuple[str, Estimate], ...]:
    """Shares of errors of at most an hour, a day, a week, a month and a year."""
    sizes = [e.size for e in cases.errors]
    found = []
    for words, hours in HORIZONS:
        value, samples, n, why = ratio(
            cases, [int((e <= hours).sum()) for e in cases.errors], sizes, NO_TIME
        )
        found.append((words, add_interval(cases, value, samples, n, why)))
    return tuple(found)


def errors_by_distance(cases: Cases) -> tuple[tuple[str, int, Estimate, Estimate], ...]:
    """Return errors grouped by |reference time|.

    Each is (words, pairs with both times, median error, share within tolerance).
    """
    bands = [
        np.empty(0, dtype=int) if p is None else band_indices(p.reference_times[p.placed])
        for p in cases.paired
    ]
    right = [
        np.empty(0, dtype=bool)
        if p is None
        else within_tolerance(p.reference_times[p.placed], p.predicted_times[p.placed])
        for p in cases.paired
    ]
    found = []
    for number, words in enumerate(BANDS):
        errors = [e[b == number] for e, b in zip(cases.errors, bands, strict=True)]
        pooled = _pool(errors)
        middle = float(np.median(pooled)) if pooled.size else None
        median = add_interval(
            cases, middle, cases.resamples.median_error(errors), pooled.size, NO_TIME
        )
        near = [int(r[b == number].sum()) for r, b in zip(right, bands, strict=True)]
        value, samples, n, why = ratio(cases, near, [e.size for e in errors], NO_TIME)
        found.append((words, pooled.size, median, add_interval(cases, value, samples, n, why)))
    return tuple(found)


def error_cdf(cases: Cases, points: int = 400) -> tuple[tuple[float, float], ...]:
    """Return (hours, share of errors up to it) for the plot.

    There are at most `points` of the sorted errors, always including the largest.
    """
    pooled = np.sort(_pool(cases.errors))
    if not pooled.size:
        return ()
    at = np.unique(np.linspace(0, pooled.size - 1, min(points, pooled.size)).round().astype(int))
    return tuple((float(pooled[i]), float((i + 1) / pooled.size)) for i in at)


def mean_log_error(
    errors: Sequence[Numbers], resamples: Resamples
) -> tuple[float | None, Numbers, int]:
    """Return the mean of ln(1 + |Δ|) over pooled errors in hours.

    Also return its resamples, and the number of errors.
    """
    sums, sizes = [float(np.log1p(e).sum()) for e in errors], [e.size for e in errors]
    return (
        (sum(sums) / sum(sizes) if sum(sizes) else None),
        resamples.ratio(sums, sizes),
        sum(sizes),
    )


def add_interval(cases: Cases, value: float | None, samples: Numbers, n: int, why: str) -> Estimate:
    """Return a figure with its interval; without a value, the reason."""
    if value is None:
        return Estimate(None, n=n, why=why)
    low, high = cases.resamples.interval(samples)
    return Estimate(value, low, high, n)


def _pool(errors: Sequence[Numbers]) -> Numbers:
    return np.concatenate([*errors, np.empty(0)])
