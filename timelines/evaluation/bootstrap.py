"""Confidence intervals of figures.

Cases are drawn with replacement, the statistic is computed anew on each draw, and the middle 95 %
of the results is the interval.

No Django. The case is the unit, since events of one admission are not independent. Matching is done
once, before. Source: protocol section 3 ("Intervals").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Interval = tuple[float, float] | tuple[None, None]

RESAMPLES = 200
SEED = 20260904
LEVEL = 0.95
#: Resampling one case gives that case again: its interval would have no width.
FEWEST_CASES = 2


def resample_indices(
    n_cases: int, resamples: int = RESAMPLES, seed: int = SEED
) -> NDArray[np.intp]:
    """Draw the cases of each resample, shape (resamples, n_cases).

    All figures that are to be compared share them.

    Raises ValueError for a negative number of cases or fewer than one resample.
    """
    if n_cases < 0 or resamples < 1:
        raise ValueError(f"cannot draw {resamples} resamples of {n_cases} cases")
    if not n_cases:
        return np.empty((resamples, 0), dtype=np.intp)
    return np.random.default_rng(seed).integers(
        0, n_cases, size=(resamples, n_cases), dtype=np.intp
    )


def percentile_interval(
    values: ArrayLike | Sequence[float | None], level: float = LEVEL
) -> Interval:
    """Return the middle `level` of a statistic over resamples.

    Linear between order statistics; None and NaN mean no data. (None, None) if no data is left.
    Raises ValueError for infinity.
    """
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if np.isinf(numbers).any():
        raise ValueError("a statistic is infinite")
    if not numbers.size:
        return None, None
    low, high = np.percentile(numbers, [50 * (1 - level), 50 * (1 + level)])
    return float(low), float(high)
