"""Errors in groups.

By their size, by distance from admission, and whether they are small enough to count as equal.

No Django. Times and errors in hours. Source: protocol section 3 ("Error strata"), section 4
(tolerance).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timelines.domain import LEAST_TOLERANCE, TOLERANCE_SHARE

#: (words, hours). A month is 720 hours and a year 8760 (protocol section 1).
HORIZONS: tuple[tuple[str, float], ...] = (
    ("1 hour", 1.0),
    ("1 day", 24.0),
    ("1 week", 168.0),
    ("1 month", 720.0),
    ("1 year", 8760.0),
)
#: Groups of |reference time|: words of each; an event on a border belongs to the nearer group.
BANDS: tuple[str, ...] = (
    "up to 1 hour from admission",
    "1 hour to 1 day",
    "1 day to 1 week",
    "1 week to 1 month",
    "1 month to 1 year",
    "more than 1 year",
)


def cumulative_shares(errors: ArrayLike) -> list[tuple[str, float | None]]:
    """Return (words, share of errors at most that large).

    For each of HORIZONS; shares are None without errors.

    Raises ValueError for NaN, infinity or negative errors.
    """
    hours = np.asarray(errors, dtype=np.float64).ravel()
    if not np.isfinite(hours).all() or (hours < 0).any():
        raise ValueError("errors are finite numbers of hours from 0 up")
    return [
        (words, float((hours <= horizon).mean()) if hours.size else None)
        for words, horizon in HORIZONS
    ]


def band_indices(reference_times: ArrayLike) -> NDArray[np.intp]:
    """Return which of BANDS each reference time belongs to.

    By its distance from admission in either direction.
    """
    return np.searchsorted(
        [hours for _, hours in HORIZONS],
        np.abs(np.asarray(reference_times, dtype=np.float64)),
        side="left",
    )


def within_tolerance(first: ArrayLike, second: ArrayLike) -> NDArray[np.bool_]:
    """Return whether |Δ| < max(3, 0.1 · max(|first|, |second|)).

    Strictly, for times in the same order (or two times).
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return np.asarray(
        np.abs(a - b)
        < np.maximum(LEAST_TOLERANCE, TOLERANCE_SHARE * np.maximum(np.abs(a), np.abs(b)))
    )
