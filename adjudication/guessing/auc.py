"""The area under a guess's curve, with its interval. No Django."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
SEED = 20260904


def area(scores: NDArray[np.float64]) -> float:
    """Return how likely a true side scores above a false one; ties count half.

    A true side scores `s`, and a false one as much below 0. Raises ValueError without scores.
    """
    if not len(scores):
        raise ValueError("an area needs scores")
    false = np.sort(-scores)
    below = np.searchsorted(false, scores, "left") + np.searchsorted(false, scores, "right")
    return float(below.sum() / 2 / len(scores) ** 2)


def area_interval(
    scores: NDArray[np.float64], cases: Sequence[str], resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the 95 % percentile interval; whole cases are drawn again."""
    names = sorted(set(cases))
    of_case = [scores[np.array([case == name for case in cases])] for name in names]
    rng = np.random.default_rng(SEED)
    found = [
        area(np.concatenate([of_case[i] for i in rng.integers(0, len(names), len(names))]))
        for _ in range(resamples)
    ]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
