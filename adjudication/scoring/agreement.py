"""Agreement of two reviewers on a 2 × 2 table of counts.

Rows are the first reviewer, columns the second; uphold comes before reject.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def raw_agreement(table: ArrayLike) -> float | None:
    """Return the share of equal decisions; None for an empty table."""
    counts = _counts(table)
    return float(np.trace(counts) / counts.sum()) if counts.sum() else None


def cohen_kappa(table: ArrayLike) -> float | None:
    """Return Cohen's κ, (p_o − p_e) / (1 − p_e) (Cohen 1960).

    None for an empty table. None too if both gave the same answer throughout: chance then explains
    all agreement.
    """
    counts = _counts(table)
    total = counts.sum()
    if not total:
        return None
    expected = float((counts.sum(1) / total) @ (counts.sum(0) / total))
    return (
        None if expected == 1.0 else float((np.trace(counts) / total - expected) / (1 - expected))
    )


def pabak(table: ArrayLike) -> float | None:
    """Return the prevalence- and bias-adjusted kappa, 2·p_o − 1.

    For two categories (Byrt, Bishop and Carlin 1993). None for an empty table.
    """
    observed = raw_agreement(table)
    return None if observed is None else 2 * observed - 1


def _counts(table: ArrayLike) -> NDArray[np.float64]:
    counts = np.asarray(table, dtype=np.float64)
    if counts.shape != (2, 2) or (counts < 0).any() or not np.isfinite(counts).all():
        raise ValueError("a 2 × 2 table of counts")
    return counts
