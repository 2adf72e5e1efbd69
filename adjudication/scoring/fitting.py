"""Many Bradley–Terry problems over the same pairs, solved at once.

No Django. Problems are the last axis, so their numbers are adjacent in memory. Only pairs that meet
in some problem are stored, so a schedule of few pairs among many sources stays small. Source:
protocol section 4, "Share".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

_STEPS = 100
#: A Newton step squares the error: after a step this small, the remaining error is below 1e-9 in ln
#: θ, a ten-millionth of a point.
_LAST_STEP = 1e-5
#: A larger strength counts as infinite.
_FARTHEST = 50.0
#: Up to this many unknowns, elimination over all problems at once is faster than one LAPACK call
#: for each problem.
_FEW_UNKNOWNS = 16


@dataclass(frozen=True)
class Pairs:
    """Pairs of the sources 0…n − 1: `one` < `two`, (pairs,) each."""

    one: Indices
    two: Indices
    n: int

    @cached_property
    def incidence(self) -> Matrix:
        """(n, pairs): 1 if the source is the pair's first, −1 if its second."""
        table = np.zeros((self.n, len(self.one)))
        at = np.arange(len(self.one))
        table[self.one, at], table[self.two, at] = 1.0, -1.0
        return table


def surplus(pairs: Pairs, first: Matrix, games: Matrix) -> Matrix:
    """Return (n, r): what each source earned beyond half its games.

    `first` (pairs, r) is what each pair's first earned of `games`.
    """
    return pairs.incidence @ (first - games / 2)


def are_determined(pairs: Pairs, first: Matrix, second: Matrix) -> Flags:
    """Return (r,): whether each problem has finite strengths.

    It has if "earned something from" leads from every source to every other. `first`, `second`
    (pairs, r): what each pair's sources earned from the other.
    """
    forth, back = first > 0, second > 0
    # Edges common to all problems are one small problem, and are enough for most.
    always = [
        np.asarray(edges.all(axis=1, keepdims=True), dtype=np.bool_) for edges in (forth, back)
    ]
    if _is_connected(pairs, *always).all():
        return np.ones(first.shape[1], dtype=bool)
    return _is_connected(pairs, forth, back)


def _is_connected(pairs: Pairs, forth: Flags, back: Flags) -> Flags:
    found: Flags = _reaches_all(pairs, forth, back) & _reaches_all(pairs, back, forth)
    return found


def _reaches_all(pairs: Pairs, forth: Flags, back: Flags) -> Flags:
    """Return (r,): whether source 0 reaches all sources.

    `forth`, `back` (pairs, r): whether the pair leads from one to two, and back.
    """
    into_one, into_two = (
        np.maximum(sign * pairs.incidence, 0.0).astype(np.float32) for sign in (1.0, -1.0)
    )
    reached = np.zeros((pairs.n, forth.shape[1]), dtype=bool)
    reached[0] = True
    count = -1
    while count != (count := int(reached.sum())):
        reached |= into_two @ (reached[pairs.one] & forth).astype(np.float32) > 0
        reached |= into_one @ (reached[pairs.two] & back).astype(np.float32) > 0
    return np.asarray(reached.all(axis=0), dtype=np.bool_)


def strengths(pairs: Pairs, games: Matrix, beyond: Matrix, start: Matrix) -> tuple[Matrix, Flags]:
    """Return ((n, r) ln θ up to a shift, (r,) converged).

    Newton's method on the concave log-likelihood, from `start` (n,). `games` (pairs, r) is how
    often each pair met, `beyond` (n, r) the surplus of each source. The last source's strength is
    fixed, because only differences have a meaning. A step changes a strength by at most 2, so that
    far starts do not overshoot.
    """
    count = games.shape[1]
    found, converged = np.repeat(start[:, None], count, axis=1), np.zeros(count, dtype=bool)
    active, x = np.arange(count), found.copy()
    beyond, signs = beyond[:-1], np.ascontiguousarray(pairs.incidence[:-1])
    for _ in range(_STEPS):
        if not len(active):
            break
        theta = np.exp(x)
        p = theta[pairs.one]
        p /= p + theta[pairs.two]
        gradient = beyond - signs @ (games * (p - 0.5))
        p *= 1.0 - p
        p *= games
        try:
            step = _solve(pairs, p, gradient)
        except np.linalg.LinAlgError:
            break
        size = np.abs(step).max(axis=0)
        step *= np.minimum(1.0, 2.0 / np.maximum(size, 1e-300))
        x[:-1] += step
        done = size <= _LAST_STEP
        if done.any():
            found[:, active[done]], converged[active[done]] = x[:, done], True
            left = ~done
            active, x, games, beyond = active[left], x[:, left], games[:, left], beyond[:, left]
    return found, converged & (
        np.abs(found - found.mean(axis=0)).max(axis=0, initial=0.0) < _FARTHEST
    )


def _solve(pairs: Pairs, weight: Matrix, gradient: Matrix) -> Matrix:
    """Return (n − 1, r) Newton steps.

    Solves the Hessian, without the last source's row and column, for each gradient.
    """
    n, r = pairs.n, weight.shape[1]
    hessian = np.zeros((n, n, r))
    hessian[pairs.one, pairs.two] = hessian[pairs.two, pairs.one] = -weight
    hessian[np.arange(n), np.arange(n)] = np.abs(pairs.incidence) @ weight
    if n - 1 <= _FEW_UNKNOWNS:
        return _eliminate(hessian[:-1, :-1], gradient)
    matrices = np.ascontiguousarray(hessian[:-1, :-1].transpose(2, 0, 1))
    return np.asarray(np.linalg.solve(matrices, gradient.T[..., None])[..., 0].T, dtype=np.float64)


def _eliminate(a: Matrix, b: Matrix) -> Matrix:
    """Solve by Gaussian elimination in place, without pivots.

    The matrices `a` (m, m, r) are symmetric and positive definite.
    """
    m = len(b)
    for k in range(m - 1):
        factor = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] -= factor[:, None] * a[k, k + 1 :]
        b[k + 1 :] -= factor * b[k]
    for k in range(m - 1, -1, -1):
        if k < m - 1:
            b[k] -= (a[k, k + 1 :] * b[k + 1 :]).sum(axis=0)
        b[k] /= a[k, k]
    return b
