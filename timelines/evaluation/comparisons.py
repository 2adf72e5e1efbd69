"""Differences between two timelines over the cases that both have.

With paired intervals (protocol section 3). No Django. A report compares the text-only timeline of a
source with its revised one, and the revised timeline of a full run with that of each of its
variants.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from timelines.evaluation.figures import FIGURES, NO_TIME, Cases, mean_log_error
from timelines.evaluation.naming import split_source
from timelines.evaluation.scoring import Paired
from timelines.evaluation.values import Basis, Difference, Estimate, SourceKey

#: Figures of a single timeline whose difference is meaningful.
COMPARED = tuple(name for name in FIGURES if name != "numeric_share")
MEDIAN_COMMON, LOG_COMMON = "median_error_common", "mean_log_error_common"


def differences(by_key: Mapping[tuple[SourceKey, Basis], Cases]) -> tuple[Difference, ...]:
    """Compare text-only with revised, then full with variant.

    Text-only → revised is compared for each source that is not a variant of another one in the
    report.
    """
    found = []
    for key, basis in by_key:
        for other in _find_compared(key, [k for k, b in by_key if b is basis]):
            found.append(difference(key, other, basis, by_key[key, basis], by_key[other, basis]))
    return tuple(found)


def _find_compared(first: SourceKey, keys: list[SourceKey]) -> list[SourceKey]:
    base, variant = split_source(first.source)
    if variant and any(k.source == base and k.kind == "revised" for k in keys):
        # a variant keeps the text-only estimates of the full run, and is compared with that
        return []
    revised = [k for k in keys if k.kind == "revised" and k.alternative == 1]
    if first.kind == "text_only":
        return [k for k in revised if (k.source, first.alternative) == (first.source, 1)]
    if first in revised:
        return [k for k in revised if k != first and split_source(k.source)[0] == first.source]
    return []


def difference(
    first: SourceKey, second: SourceKey, basis: Basis, one: Cases, two: Cases
) -> Difference:
    """Return second minus first on the cases both have.

    From the matched pairs of each, and errors on the reference events that both place.
    """
    both = one.available & two.available
    a, b = one.only(both), two.only(both)
    metrics = {name: _difference(a, b, name) for name in COMPARED}
    errors = [_common(p, q) for p, q in zip(a.paired, b.paired, strict=True)]
    before, after = [e for e, _ in errors], [e for _, e in errors]
    metrics[MEDIAN_COMMON] = _make_estimate(
        a,
        _median(before),
        _median(after),
        a.resamples.median_error(after) - a.resamples.median_error(before),
        sum(e.size for e in after),
    )
    (low, low_samples, n), (high, high_samples, _) = (
        mean_log_error(before, a.resamples),
        mean_log_error(after, a.resamples),
    )
    metrics[LOG_COMMON] = _make_estimate(a, low, high, high_samples - low_samples, n)
    return Difference(first, second, basis, metrics)


def _difference(one: Cases, two: Cases, name: str) -> Estimate:
    (first, before, _, why), (second, after, n, _) = (
        FIGURES[name](one, False),
        FIGURES[name](two, False),
    )
    if first is None or second is None:
        return Estimate(None, n=0, why=why)
    return _make_estimate(one, first, second, after - before, n)


def _make_estimate(
    cases: Cases, first: float | None, second: float | None, samples: NDArray[np.float64], n: int
) -> Estimate:
    if first is None or second is None:
        return Estimate(None, n=0, why=NO_TIME)
    low, high = cases.resamples.interval(samples)
    return Estimate(second - first, low, high, n)


def _common(
    one: Paired | None, two: Paired | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both errors on reference events that both match and place.

    In the order of these events.
    """
    if one is None or two is None:
        return np.empty(0), np.empty(0)
    first, second = _index_errors(one), _index_errors(two)
    shared = sorted(set(first) & set(second))
    return np.array([first[r] for r in shared], dtype=np.float64), np.array(
        [second[r] for r in shared], dtype=np.float64
    )


def _index_errors(paired: Paired) -> dict[int, float]:
    return dict(zip(paired.references[paired.placed].tolist(), paired.errors.tolist(), strict=True))


def _median(errors: list[NDArray[np.float64]]) -> float | None:
    pooled = np.concatenate([*errors, np.empty(0)])
    return float(np.median(pooled)) if pooled.size else None
