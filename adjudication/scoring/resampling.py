"""Cases drawn with replacement, for every bootstrap. No Django.

The ratings, weights and tolerances of a report all draw the same cases, so the draws are kept while
they are small.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

#: Counts in a block, and numbers that are drawn at once, so that they stay in a processor's cache.
_BLOCK, _DRAWN = 1_000_000, 100_000
#: Counts that are kept: some 60 MB.
_KEPT = 30_000_000

T = TypeVar("T", bound=np.generic)


def draw_counts(
    cases: int, resamples: int, seed: int, most: int | None = None
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield (resamples, (r, cases) how often each case is drawn in them).

    Blocks have at most `most` resamples; their size changes no number.
    """
    size = max(1, min(most or resamples, _BLOCK // max(1, cases)))
    kept = _draw_all(cases, resamples, seed) if cases * resamples <= _KEPT else None
    rng = np.random.default_rng(seed)
    for at in range(0, resamples, size):
        block = slice(at, min(at + size, resamples))
        counts = _draw(rng, cases, block.stop - at, np.float64) if kept is None else kept[block]
        yield block, counts.astype(np.float64, copy=False)


def sum_resamples(by_case: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Return (resamples, columns): sums of (cases, columns) over drawn cases."""
    found = np.empty((resamples, by_case.shape[1]))
    for block, counts in draw_counts(len(by_case), resamples, seed):
        found[block] = counts @ by_case
    return found


@lru_cache(maxsize=2)
def _draw_all(cases: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """Return (resamples, cases); no case is drawn 65,536 times."""
    return _draw(np.random.default_rng(seed), cases, resamples, np.uint16)


def _draw(rng: np.random.Generator, cases: int, resamples: int, kind: type[T]) -> NDArray[T]:
    """Return (resamples, cases) how often each case is drawn.

    Drawn in parts, the numbers are those of one draw.
    """
    found = np.empty((resamples, cases), kind)
    size = max(1, _DRAWN // max(1, cases))
    for at in range(0, resamples, size):
        part = found[at : at + size]
        drawn = rng.integers(0, cases, size=part.shape)
        drawn += np.arange(len(part))[:, None] * cases
        part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
    return found
