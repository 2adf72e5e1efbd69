"""Pairs of reference and predicted events by the distance of their words, each event in one pair at most.

No Django. Source: protocol section 3 ("Matching") and the paper's recursive best match (appendix, event match rate).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Method = Literal["greedy", "assignment"]


def match_events(distance: ArrayLike, threshold: float = 0.1, method: Method = "greedy") -> list[tuple[int, int]]:
    """The (reference index, predicted index) pairs whose distance is strictly below the threshold.

    `distance` has shape (n_ref, n_pred) and finite values; either side may be empty, which gives no pairs.
    `greedy`: the globally closest pair of unmatched events again and again, ties (exactly equal numbers) to the lower
    reference, then the lower predicted index; pairs come in the order taken. The same, pair for pair, as the paper's recursion.
    `assignment`: as many pairs below the threshold as there can be, and among those the smallest total distance; pairs
    come by reference index. Other thresholds give other assignments, so a sweep needs one a threshold.
    Raises ValueError for another shape, NaN or infinity, a threshold that is NaN, or an unknown method.
    """
    matrix = _checked(distance)
    if np.isnan(threshold):
        raise ValueError("the threshold is not a number")
    if method == "greedy":
        # Pairs at or above the threshold come last in the greedy order, so they cannot change those below it.
        return [(r, p) for r, p, _ in _taken(matrix, np.flatnonzero(matrix.ravel() < threshold))]
    if method == "assignment":
        return _assigned(matrix, threshold)
    raise ValueError(f"unknown method {method!r}: greedy or assignment")


def greedy_order(distance: ArrayLike) -> list[tuple[int, int, float]]:
    """The whole greedy matching, min(n_ref, n_pred) triples (reference index, predicted index, distance) in the order taken.

    Distances never fall along it, so the matching at any threshold is a prefix of it (see `cut`). Same rules and errors as
    `match_events`. O(n_ref · n_pred · log).
    """
    matrix = _checked(distance)
    return _taken(matrix, np.arange(matrix.size))


def cut(order: Sequence[tuple[int, int, float]], threshold: float) -> list[tuple[int, int]]:
    """The pairs of a greedy order below a threshold: what `match_events` gives there, without matching anew."""
    return [(r, p) for r, p, _ in order[: bisect_left(order, threshold, key=lambda pair: pair[2])]]


def _checked(distance: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(distance, dtype=np.float64)
    if matrix.size == 0:
        return np.empty((0, 0))
    if matrix.ndim != 2:
        raise ValueError(f"distances have {matrix.ndim} dimensions, not two (reference, predicted)")
    if not np.isfinite(matrix).all():
        raise ValueError("distances hold NaN or infinity")
    return matrix


def _taken(matrix: NDArray[np.float64], candidates: NDArray[np.intp]) -> list[tuple[int, int, float]]:
    """The greedy choice among some cells of the matrix, given as ascending indices of its rows laid end to end.

    A stable sort leaves equal distances in that order, which is the tie rule: lower reference, then lower predicted index.
    """
    if not candidates.size:
        return []
    values = matrix.ravel()[candidates]
    by_distance = np.argsort(values, kind="stable")
    rows, columns = np.divmod(candidates[by_distance], matrix.shape[1])
    free_rows, free_columns = [True] * matrix.shape[0], [True] * matrix.shape[1]
    left, pairs = min(matrix.shape), []
    for r, p, d in zip(rows.tolist(), columns.tolist(), values[by_distance].tolist(), strict=True):
        if free_rows[r] and free_columns[p]:
            free_rows[r] = free_columns[p] = False
            pairs.append((r, p, d))
            left -= 1
            if not left:
                break
    return pairs


def _assigned(matrix: NDArray[np.float64], threshold: float) -> list[tuple[int, int]]:
    """A pair at or above the threshold costs more than all others together, so none is taken while one below can be added.

    Distances below are laid on 0…1 first, to keep that cost small beside the precision of a float. Where several assignments
    are equally good, the solver's choice stands; it is the same for the same matrix.
    """
    below = matrix < threshold
    if not below.any():
        return []
    from scipy.optimize import linear_sum_assignment  # here, because most callers never need it

    low, high = matrix[below].min(), matrix[below].max()
    cost = np.where(below, (matrix - low) / ((high - low) or 1.0), min(matrix.shape) + 1.0)
    return [(int(r), int(p)) for r, p in zip(*linear_sum_assignment(cost), strict=True) if below[r, p]]
