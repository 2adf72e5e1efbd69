"""Pair reference and predicted events by the distance of their words.

Each event is in one pair at most. No Django. Source: protocol section 3 ("Matching") and the
paper's recursive best match (appendix, event match rate).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timelines.evaluation.values import Method

#: Reference index, predicted index, distance.
Pair = tuple[int, int, float]

#: Share of the events left below which a round of mutual choices is not worth another.
FEW = 1 / 16


def match_events(
    distance: ArrayLike, threshold: float = 0.1, method: Method = "greedy"
) -> list[tuple[int, int]]:
    """Return the pairs with a distance strictly below the threshold.

    Each is (reference index, predicted index). `distance` has shape (n_ref, n_pred) and finite
    values; either side may be empty, which gives no pairs. `greedy`: the globally closest pair of
    unmatched events again and again, ties (exactly equal numbers) to the lower reference, then the
    lower predicted index; pairs come in the order taken. The same, pair for pair, as the paper's
    recursion. `assignment`: as many pairs below the threshold as there can be, and among those the
    smallest total distance; pairs come by reference index. Other thresholds give other assignments,
    so a sweep needs one a threshold. Raises ValueError for another shape, NaN or infinity, a
    threshold that is NaN, or an unknown method.
    """
    matrix = _check(distance)
    if np.isnan(threshold):
        raise ValueError("the threshold is not a number")
    if method == "greedy":
        return cut(_match_by_rounds(matrix), threshold)
    if method == "assignment":
        return _assign(matrix, threshold)
    raise ValueError(f"unknown method {method!r}: greedy or assignment")


def greedy_order(distance: ArrayLike) -> list[Pair]:
    """Return the whole greedy matching, in the order taken.

    min(n_ref, n_pred) triples (reference index, predicted index, distance).

    Distances never fall along it, so the matching at any threshold is a prefix of it (see `cut`).
    Same rules and errors as `match_events`. O(n_ref · n_pred · log).
    """
    return _match_by_rounds(_check(distance))


def cut(order: Sequence[Pair], threshold: float) -> list[tuple[int, int]]:
    """Return the pairs of a greedy order below a threshold.

    They are what `match_events` gives there, without matching anew.
    """
    return [(r, p) for r, p, _ in order[: bisect_left(order, threshold, key=lambda pair: pair[2])]]


def _check(distance: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(distance, dtype=np.float64)
    if matrix.size == 0:
        return np.empty((0, 0))
    if matrix.ndim != 2:
        raise ValueError(f"distances have {matrix.ndim} dimensions, not two (reference, predicted)")
    if not np.isfinite(matrix).all():
        raise ValueError("distances contain NaN or infinity")
    return matrix


def _match_by_rounds(matrix: NDArray[np.float64]) -> list[Pair]:
    """Compute the greedy matching by rounds.

    Two remaining events that are each other's closest are a greedy pair. No other pair with either
    of them comes earlier in the order (distance, reference index, predicted index), and `argmin`
    breaks ties as that order does. The closest remaining pair is such a pair, so each round takes
    at least one. Most rounds take many. If one takes few, as among duplicates, the rest is sorted
    as a whole, which bounds the work.
    """
    pairs: list[Pair] = []
    rows, columns = np.arange(matrix.shape[0]), np.arange(matrix.shape[1])
    while min(matrix.shape):
        closest_column, closest_row = matrix.argmin(axis=1), matrix.argmin(axis=0)
        r = np.flatnonzero(closest_row[closest_column] == np.arange(len(rows)))
        p = closest_column[r]
        if len(r) < FEW * min(matrix.shape):
            pairs += [(int(rows[r]), int(columns[p]), d) for r, p, d in _match_sorted(matrix)]
            break
        pairs += zip(rows[r].tolist(), columns[p].tolist(), matrix[r, p].tolist(), strict=True)
        matrix = np.delete(np.delete(matrix, r, axis=0), p, axis=1)
        rows, columns = np.delete(rows, r), np.delete(columns, p)
    return sorted(pairs, key=lambda pair: (pair[2], pair[0], pair[1]))


def _match_sorted(matrix: NDArray[np.float64]) -> list[Pair]:
    """Compute the same matching from one stable sort of all distances.

    The sort leaves equal ones by reference, then predicted index.
    """
    order = np.argsort(matrix, axis=None, kind="stable")
    free_rows, free_columns = [True] * matrix.shape[0], [True] * matrix.shape[1]
    pairs: list[Pair] = []
    for r, p in zip(
        *(indices.tolist() for indices in np.divmod(order, matrix.shape[1])), strict=True
    ):
        if free_rows[r] and free_columns[p]:
            free_rows[r] = free_columns[p] = False
            pairs.append((r, p, float(matrix[r, p])))
    return pairs


def _assign(matrix: NDArray[np.float64], threshold: float) -> list[tuple[int, int]]:
    """Compute the optimal assignment below the threshold.

    A pair at or above the threshold costs more than all others together, so none is taken while one
    below can be added.

    Distances below are scaled to 0…1 first, so that this cost stays small relative to the precision
    of a float. If several assignments are equally good, the solver's choice applies; it is the same
    for the same matrix.
    """
    below = matrix < threshold
    if not below.any():
        return []
    from scipy.optimize import linear_sum_assignment  # here, because most callers never need it

    low, high = matrix[below].min(), matrix[below].max()
    cost = np.where(below, (matrix - low) / ((high - low) or 1.0), min(matrix.shape) + 1.0)
    return [
        (int(r), int(p)) for r, p in zip(*linear_sum_assignment(cost), strict=True) if below[r, p]
    ]
