"""Intervals of rates (protocol section 4).

Wilson's for one rate, a stratified bootstrap for a rate standardised to the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

STANDARDISED_RESAMPLES = 20_000
SEED = 20260904


def wilson_interval(successes: int, n: int, level: float = 0.95) -> tuple[float, float] | None:
    """Return Wilson's score interval (low, high) of a rate; None for n = 0.

    Without continuity correction. Raises ValueError unless 0 ≤ successes ≤ n and 0 < level < 1.
    Source: Wilson 1927.
    """
    if not 0 <= successes <= n or not 0 < level < 1:
        raise ValueError("0 ≤ successes ≤ n and 0 < level < 1")
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2)
    p = successes / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return (0.0 if successes == 0 else max(0.0, middle - half)), (
        1.0 if successes == n else min(1.0, middle + half)
    )


def standardise_rate(
    upheld: Sequence[int],
    n: Sequence[int],
    corpus: Sequence[float],
    *,
    resamples: int = STANDARDISED_RESAMPLES,
    seed: int = SEED,
    level: float = 0.95,
) -> tuple[float, float, float] | None:
    """Return (rate, low, high) of stratum rates weighted by corpus shares.

    The bootstrap resamples within each stratum. The shares are normalised to 1. None if a stratum
    of the corpus was not sampled. Raises ValueError for malformed input.
    """
    k, m, share = np.asarray(upheld), np.asarray(n), np.asarray(corpus, dtype=np.float64)
    if (
        not (k.shape == m.shape == share.shape)
        or (k < 0).any()
        or (k > m).any()
        or (share < 0).any()
    ):
        raise ValueError("one count of upheld, one of findings and one corpus share a stratum")
    used = share > 0
    if not used.any() or (m[used] == 0).any():
        return None
    k, m, share = k[used], m[used], share[used] / share[used].sum()
    # Resampling m findings of which k are upheld draws a binomial with the observed rate.
    drawn = np.random.default_rng(seed).binomial(m, k / m, size=(resamples, len(m))) / m
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(drawn @ share, [tail, 100 - tail])
    return float((k / m) @ share), float(low), float(high)
