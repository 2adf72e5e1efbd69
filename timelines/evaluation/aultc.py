"""The distance of predicted from reference times, on a log scale.

The area under the CDF of log(1 + error). No Django. Errors are absolute differences in hours.
Source: protocol section 3; the paper's appendix (time discrepancy and AULTC).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: The fixed horizon of the code that the paper's authors released: the log of the minutes in a
#: year. It is compared with logs of hours, as there.
U = math.log(60 * 24 * 365.26)


def aultc(errors: ArrayLike, s_max: float) -> float | None:
    """Return the area as the paper prints it, 0…1, larger is better.

    None without errors. With x(1) ≤ … ≤ x(k) the sorted log(1 + error), x(0) = 0 and L = log(1 +
    s_max): [Σ (x(i) − x(i−1)) · i/k + (L − x(k))] / L. Summed by parts this is 1 − (Σ x − x(k)) /
    (k·L), which is computed. The printed step counts i/k already before x(i), so the largest error
    costs nothing: a single error of any size gives 1. `s_max` in hours is the largest error of the
    whole report. If it is 0, every error is 0 and the area is 1. Raises ValueError for NaN,
    infinity or negative errors, and for an `s_max` below the largest error.
    """
    logs = log_errors(errors)
    check_s_max(logs, s_max)
    if not logs.size:
        return None
    return float(1 - (logs.sum() - logs.max()) / (logs.size * math.log1p(s_max))) if s_max else 1.0


def aultc_ref(errors: ArrayLike) -> float | None:
    """Return 1 − mean(min(x, U)) / U with x = log(1 + error in hours).

    The horizon U is the same in every report. None without errors. Raises ValueError for NaN,
    infinity or negative errors.
    """
    logs = log_errors(errors)
    return float(1 - np.minimum(logs, U).mean() / U) if logs.size else None


def log_errors(errors: ArrayLike) -> NDArray[np.float64]:
    """Return log(1 + error) of a flat list of errors in hours.

    Raises ValueError for NaN, infinity or a negative error.
    """
    hours = np.asarray(errors, dtype=np.float64).ravel()
    if not np.isfinite(hours).all() or (hours < 0).any():
        raise ValueError("errors are finite numbers of hours from 0 up")
    return np.log1p(hours)


def check_s_max(logs: NDArray[np.float64], s_max: float) -> None:
    """Raise ValueError unless `s_max` fits the errors.

    It is finite, at least 0 and no smaller than any error.
    """
    if not math.isfinite(s_max) or s_max < 0:
        raise ValueError("s_max is a finite number of hours from 0 up")
    if logs.size and logs.max() > np.log1p(s_max):
        raise ValueError("s_max is smaller than the largest error")
