"""Bradley–Terry ratings on fractional shares, unpenalised, with the case-level bootstrap as one vectorised computation.

A game gives its first source the share s and its second 1 − s, weight 1 a game. R = 1500 + 400/ln 10 · (ln θ − mean ln θ): only
differences mean anything. A maximum exists exactly when the graph "i earned something against j" is strongly connected; where it is
not, a strength would be infinite, and that is reported instead of a number (protocol section 4).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

CENTRE = 1500.0
SCALE = 400.0 / np.log(10.0)
RESAMPLES = 2000
SEED = 20260904

_STEPS = 100
_TOLERANCE = 1e-10
#: Numbers that a block of resamples may hold in one matrix each, so that memory does not grow with resamples × sources².
_BLOCK = 4_000_000

Matrix = NDArray[np.float64]


class Undetermined(ValueError):
    """No finite ratings follow from these games; the message says why and names the sources by index."""


def ratings(first: ArrayLike, second: ArrayLike, share: ArrayLike, n_sources: int) -> Matrix:
    """(n_sources,) ratings, mean 1500. `first`, `second` are source indices and `share` the first's share, one a game.

    Raises Undetermined for fewer than two sources, sources that fall into groups which never meet, and a source (or group) that
    earned everything or nothing against the others; ValueError for malformed input.
    """
    i, j, s = _games(first, second, share, n_sources)
    earned = _earned(i, j, s, n_sources)
    if why := undetermined(earned):
        raise Undetermined(why)
    strengths, converged = _solve(earned[None])
    if not converged[0]:
        raise Undetermined("the computation did not converge")
    return _rated(strengths[0])


def bootstrap_ratings(
    first: ArrayLike, second: ArrayLike, share: ArrayLike, case: ArrayLike, n_sources: int, resamples: int = RESAMPLES, seed: int = SEED
) -> Matrix:
    """(resamples, n_sources) ratings of games resampled by case, all games of a drawn case together.

    A resample whose ratings are undetermined is a row of NaN: `interval` counts those rows and leaves them out.
    """
    i, j, s = _games(first, second, share, n_sources)
    labels, at = np.unique(np.asarray(case), return_inverse=True)
    if at.shape != i.shape:
        raise ValueError("one case a game")
    by_case = np.zeros((len(labels), n_sources, n_sources))
    np.add.at(by_case, (at, i, j), s)
    np.add.at(by_case, (at, j, i), 1.0 - s)
    flat = by_case.reshape(len(labels), -1)
    found = np.full((resamples, n_sources), np.nan)
    drawn = np.random.default_rng(seed).integers(0, len(labels), size=(resamples, len(labels))) if len(labels) else None
    for block in _blocks(resamples if drawn is not None else 0, n_sources):
        assert drawn is not None
        counts = np.stack([np.bincount(row, minlength=len(labels)) for row in drawn[block]]).astype(np.float64)
        earned = (counts @ flat).reshape(-1, n_sources, n_sources)
        sound = strongly_connected(earned > 0)
        strengths, converged = _solve(earned[sound])
        rows = np.flatnonzero(sound)[converged] + block.start
        found[rows] = _rated(strengths[converged])
    return found


def interval(samples: Matrix, level: float = 0.95) -> tuple[Matrix, Matrix, int]:
    """(low, high, resamples left out) by percentiles over the resamples that have ratings; NaN where none has."""
    sound = ~np.isnan(samples).any(axis=1)
    failed = int((~sound).sum())
    if not sound.any():
        empty = np.full(samples.shape[1], np.nan)
        return empty, empty, failed
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(samples[sound], [tail, 100 - tail], axis=0)
    return low, high, failed


def ratings_from_totals(games: Matrix, earned: ArrayLike) -> Matrix:
    """Ratings from how often each pair met and what each source earned in all: these totals are all that the maximum depends on.

    `games` (n, n) symmetric counts; `earned` (n,) sums of shares, which must add up to the number of games.
    Raises ValueError where they do not, Undetermined where no finite maximum was reached.
    """
    games = np.asarray(games, dtype=np.float64)
    totals = np.asarray(earned, dtype=np.float64)
    if not np.isclose(totals.sum(), games.sum() / 2, rtol=1e-3):
        raise ValueError("what the sources earned does not add up to the number of games")
    strengths, converged = _newton(games[None], totals[None])
    if not converged[0]:
        raise Undetermined("no finite ratings follow from these totals")
    return _rated(strengths[0])


def undetermined(earned: Matrix) -> str:
    """Why no finite ratings follow from what each source earned against each other; "" where they do."""
    n = len(earned)
    if n < 2:
        return "one source alone has nothing to be rated against"
    met = (earned + earned.T) > 0
    groups = _groups(met)
    if len(groups) > 1:
        return f"the sources fall into {len(groups)} groups that never meet: {'; '.join(_named(g) for g in groups)}"
    if not strongly_connected(earned[None] > 0)[0]:
        reach = _reachability(earned[None] > 0)[0]
        unbeaten = [k for k in range(n) if not reach[:, k].all() and reach[k].all()]
        lost = [k for k in range(n) if not reach[k].all() and reach[:, k].all()]
        if unbeaten:
            return f"perfect separation: sources {_named(unbeaten)} lost nothing to the others"
        return f"perfect separation: sources {_named(lost)} earned nothing of the others"
    return ""


def strongly_connected(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(…,) whether every source reaches every other along `edges` (…, n, n)."""
    return np.asarray(_reachability(edges).all(axis=(-1, -2)), dtype=np.bool_)


def _reachability(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    n = edges.shape[-1]
    reach = (edges | np.eye(n, dtype=bool)).astype(np.float32)
    for _ in range(max(1, int(np.ceil(np.log2(max(n, 2)))))):
        reach = (reach @ reach > 0).astype(np.float32)
    found: NDArray[np.bool_] = reach > 0
    return found


def _games(first: ArrayLike, second: ArrayLike, share: ArrayLike, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Matrix]:
    i, j, s = np.asarray(first), np.asarray(second), np.asarray(share, dtype=np.float64)
    if not (i.shape == j.shape == s.shape) or i.ndim != 1:
        raise ValueError("first, second and share have one entry a game")
    if i.size and (min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= n):
        raise ValueError(f"a source index lies outside 0…{n - 1}")
    if (i == j).any():
        raise ValueError("a source does not play itself")
    if not ((s >= 0) & (s <= 1)).all():
        raise ValueError("a share lies in 0…1")
    return i.astype(np.intp), j.astype(np.intp), s


def _earned(i: NDArray[np.intp], j: NDArray[np.intp], s: Matrix, n: int) -> Matrix:
    earned = np.zeros((n, n))
    np.add.at(earned, (i, j), s)
    np.add.at(earned, (j, i), 1.0 - s)
    return earned


def _solve(earned: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    return _newton(earned + np.swapaxes(earned, -1, -2), earned.sum(-1))


def _newton(games: Matrix, totals: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """(ln θ with mean 0, converged) for each of r problems: `games` (r, n, n), `totals` (r, n).

    Newton on the concave log-likelihood; the direction that shifts all strengths alike is taken out by adding its projector to the
    Hessian. A step is at most 2 in any strength, which keeps far starts from overshooting.
    """
    r, n = totals.shape
    x, done = np.zeros((r, n)), np.zeros(r, dtype=bool)
    scale = np.maximum(games.sum(-1).max(-1, initial=0.0), 1.0)
    for _ in range(_STEPS):
        active = np.flatnonzero(~done)
        if not len(active):
            break
        xa, ga = x[active], games[active]
        p = 1.0 / (1.0 + np.exp(np.clip(xa[:, None, :] - xa[:, :, None], -500, 500)))
        gradient = totals[active] - (ga * p).sum(-1)
        done[active] = np.abs(gradient).max(-1) <= _TOLERANCE * scale[active]
        weight = ga * p * (1 - p)
        hessian = -weight
        hessian[:, np.arange(n), np.arange(n)] += weight.sum(-1)
        hessian += (scale[active] / n)[:, None, None] / n
        try:
            step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        except np.linalg.LinAlgError:
            break
        step *= np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-300))
        moved = ~done[active]
        x[active[moved]] += step[moved] - step[moved].mean(-1, keepdims=True)
    return x, done & (np.abs(x).max(-1, initial=0.0) < 50)


def _rated(strengths: Matrix) -> Matrix:
    rated: Matrix = CENTRE + SCALE * (strengths - strengths.mean(-1, keepdims=True))
    return rated


def _groups(met: NDArray[np.bool_]) -> list[list[int]]:
    reach = _reachability((met | met.T)[None])[0]
    return sorted(list(np.flatnonzero(row)) for row in np.unique(reach, axis=0))


def _named(indices: list[int]) -> str:
    return ", ".join(str(int(k)) for k in indices)


def _blocks(resamples: int, n: int) -> Iterator[slice]:
    size = max(1, _BLOCK // max(1, n * n))
    for at in range(0, resamples, size):
        yield slice(at, min(at + size, resamples))
