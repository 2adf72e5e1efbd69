"""Bradley–Terry ratings on fractional shares, with a case-level bootstrap.

Unpenalised; the bootstrap is one vectorised computation. A game gives its first source the share s
and its second 1 − s, with weight 1 per game. R = 1500 + 400/ln 10 · (ln θ − mean ln θ): only
differences have a meaning. A maximum exists exactly if the graph "i earned something against j" is
strongly connected. If it is not, a strength would be infinite, and that is reported instead of a
number (protocol section 4).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudication.scoring.fitting import Pairs, are_determined, strengths, surplus
from adjudication.scoring.resampling import draw_counts

CENTRE = 1500.0
SCALE = 400.0 / np.log(10.0)
RESAMPLES = 2000
SEED = 20260904

#: Numbers in a block's Hessians, so that they stay in a processor's cache; and the smallest block.
_BLOCK, _LEAST_BLOCK = 40_000, 64

Matrix = NDArray[np.float64]


class Undetermined(ValueError):
    """These games give no finite ratings.

    The message says why; it names the sources by `names`, else by index.
    """


def ratings(
    first: ArrayLike,
    second: ArrayLike,
    share: ArrayLike,
    n_sources: int,
    *,
    names: Sequence[str] | None = None,
) -> Matrix:
    """Return (n_sources,) ratings with mean 1500.

    `first`, `second` are source indices and `share` is the first's share, one per game. `names`
    replace the indices in messages. Raises Undetermined for fewer than two sources, sources in
    groups that never meet, and a source (or group) that earned everything or nothing against the
    others; ValueError for malformed input.
    """
    i, j, s = _games(first, second, share, n_sources)
    earned = _sum_points(i, j, s, n_sources)
    if why := explain_undetermined(earned, names):
        raise Undetermined(why)
    fitted, converged = _fit(earned + earned.T, earned.sum(axis=1))
    if not converged:
        raise Undetermined("the computation did not converge")
    return _scale_strengths(fitted)


def bootstrap_ratings(
    first: ArrayLike,
    second: ArrayLike,
    share: ArrayLike,
    case: ArrayLike,
    n_sources: int,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Matrix:
    """Return (resamples, n_sources) ratings of games resampled by case.

    All games of a drawn case are drawn together. A resample with undetermined ratings is a row of
    NaN: `interval` counts those rows and leaves them out.
    """
    i, j, s = _games(first, second, share, n_sources)
    labels, at = np.unique(np.asarray(case), return_inverse=True)
    if at.shape != i.shape:
        raise ValueError("one case a game")
    pairs, at_pair = _pairs(i, j, n_sources)
    ordered = i < j
    by_case = _sum_by_case(at, at_pair, np.where(ordered, s, 1.0 - s), len(labels), len(pairs.one))
    found = np.full((resamples, n_sources), np.nan)
    if n_sources < 2 or not len(labels):
        return found
    start = _start(pairs, by_case)
    size = max(_LEAST_BLOCK, _BLOCK // (n_sources * n_sources))
    for block, counts in draw_counts(len(labels), resamples, seed, size):
        one, two = np.split(np.ascontiguousarray((counts @ by_case).T), 2)
        sound = are_determined(pairs, one, two)
        games = (one + two)[:, sound]
        fitted, converged = strengths(pairs, games, surplus(pairs, one[:, sound], games), start)
        found[np.flatnonzero(sound)[converged] + block.start] = _scale_strengths(
            fitted[:, converged].T
        )
    return found


def interval(samples: Matrix, level: float = 0.95) -> tuple[Matrix, Matrix, int]:
    """Return (low, high, resamples left out) by percentiles.

    Resamples without ratings are left out; NaN if there are no others.
    """
    sound = ~np.isnan(samples).any(axis=1)
    failed = int((~sound).sum())
    if not sound.any():
        empty = np.full(samples.shape[1], np.nan)
        return empty, empty, failed
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(samples[sound], [tail, 100 - tail], axis=0)
    return low, high, failed


def explain_undetermined(earned: Matrix, names: Sequence[str] | None = None) -> str:
    """Return why the points earned give no finite ratings; "" if they do.

    The words name sources by `names`, else by index.
    """
    n = len(earned)
    if n < 2:
        return "one source alone has nothing to be rated against"
    met = (earned + earned.T) > 0
    groups = _groups(met)
    if len(groups) > 1:
        return (
            f"the sources fall into {len(groups)} groups that never meet:"
            f" {'; '.join(_join_names(g, names) for g in groups)}"
        )
    reach = _reachability(earned > 0)
    if not reach.all():
        unbeaten = [k for k in range(n) if not reach[:, k].all() and reach[k].all()]
        lost = [k for k in range(n) if not reach[k].all() and reach[:, k].all()]
        if unbeaten:
            return f"perfect separation: sources {_join_names(unbeaten, names)} lost nothing to the others"
        return (
            f"perfect separation: sources {_join_names(lost, names)} earned nothing of the others"
        )
    return ""


def _reachability(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n, n): whether each source reaches each other along `edges`.

    `scipy.sparse.csgraph` would do this, but the web process computes ratings and has no SciPy.
    """
    reach = edges | np.eye(len(edges), dtype=bool)
    for _ in range(len(edges).bit_length()):  # each product doubles the length of the paths
        reach = reach @ reach
    return reach


def _games(
    first: ArrayLike, second: ArrayLike, share: ArrayLike, n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Matrix]:
    i, j, s = np.asarray(first), np.asarray(second), np.asarray(share, dtype=np.float64)
    if not (i.shape == j.shape == s.shape) or i.ndim != 1:
        raise ValueError("first, second and share have one entry a game")
    if not all(np.issubdtype(k.dtype, np.number) and (k % 1 == 0).all() for k in (i, j)):
        raise ValueError("source indices are integers")
    if i.size and (min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= n):
        raise ValueError(f"a source index is outside 0…{n - 1}")
    if (i == j).any():
        raise ValueError("a source does not play itself")
    if not ((s >= 0) & (s <= 1)).all():
        raise ValueError("a share must be in 0…1")
    return i.astype(np.intp), j.astype(np.intp), s


def _sum_points(i: NDArray[np.intp], j: NDArray[np.intp], s: Matrix, n: int) -> Matrix:
    earned = np.zeros((n, n))
    np.add.at(earned, (i, j), s)
    np.add.at(earned, (j, i), 1.0 - s)
    return earned


def _pairs(i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> tuple[Pairs, NDArray[np.intp]]:
    """Return the pairs that meet, and (games,) the pair of each game."""
    keys, at = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_inverse=True)
    return Pairs(keys // max(n, 1), keys % max(n, 1), n), at.astype(np.intp)


def _fit(games: Matrix, earned: Matrix) -> tuple[Matrix, bool]:
    """Return ((n,) ln θ, converged) of one problem.

    `games` (n, n) are symmetric counts, `earned` (n,) totals.
    """
    one, two = np.nonzero(np.triu(games, 1))
    beyond = (earned - games.sum(axis=1) / 2)[:, None]
    fitted, converged = strengths(
        Pairs(one, two, len(games)), games[one, two][:, None], beyond, np.zeros(len(games))
    )
    return fitted[:, 0], bool(converged[0])


def _start(pairs: Pairs, by_case: Matrix) -> Matrix:
    """Return (n,) strengths of all games, the start for every resample.

    Strengths of resamples are near them. 0 if they are undetermined.
    """
    one, two = np.split(by_case.sum(axis=0)[:, None], 2)
    origin = np.zeros(pairs.n)
    if not are_determined(pairs, one, two)[0]:
        return origin
    fitted, converged = strengths(pairs, one + two, surplus(pairs, one, one + two), origin)
    return fitted[:, 0] if converged[0] else origin


def _sum_by_case(
    case: NDArray[np.intp], pair: NDArray[np.intp], earned: Matrix, cases: int, pairs: int
) -> Matrix:
    """Return (cases, 2 · pairs) points.

    Those of the pairs' first sources come before those of their second ones.
    """
    cells = np.concatenate([case * 2 * pairs + pair, case * 2 * pairs + pairs + pair])
    points = np.bincount(cells, np.concatenate([earned, 1.0 - earned]), cases * 2 * pairs)
    return np.asarray(points.reshape(cases, 2 * pairs), dtype=np.float64)


def _scale_strengths(strengths: Matrix) -> Matrix:
    rated: Matrix = CENTRE + SCALE * (strengths - strengths.mean(-1, keepdims=True))
    return rated


def _groups(met: NDArray[np.bool_]) -> list[list[int]]:
    reach = _reachability(met | met.T)
    return sorted(list(np.flatnonzero(row)) for row in np.unique(reach, axis=0))


def _join_names(indices: list[int], names: Sequence[str] | None) -> str:
    return ", ".join(str(int(k)) if names is None else names[k] for k in indices)
