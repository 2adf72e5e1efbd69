"""Shares of a game's points, their mean, and pooled shares.

Means are plain means over games; the pooled share is of a controlled comparison (protocol section
4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudication.scoring.resampling import sum_resamples

SEED = 20260904
RESAMPLES = 2000


def share(charged_first: float, charged_second: float) -> float:
    """Return the first side's share of a game's points.

    It is the part that is charged to the second; ½ if nothing is charged. Raises ValueError for a
    negative or non-finite charge.
    """
    if (
        not (np.isfinite(charged_first) and np.isfinite(charged_second))
        or min(charged_first, charged_second) < 0
    ):
        raise ValueError("charges are finite and not negative")
    total = charged_first + charged_second
    if not np.isfinite(total):
        return share(charged_first / 2, charged_second / 2)
    return 0.5 if total == 0 else float(charged_second / total)


def mean_shares(
    first: ArrayLike, second: ArrayLike, shares: ArrayLike, n_sources: int
) -> NDArray[np.float64]:
    """Return (n_sources,) plain means of each source's shares over its games.

    Draws count. NaN for a source without a game.
    """
    i, j, s = (
        np.asarray(first, dtype=np.intp),
        np.asarray(second, dtype=np.intp),
        np.asarray(shares, dtype=np.float64),
    )
    earned = np.bincount(i, s, n_sources) + np.bincount(j, 1 - s, n_sources)
    games = np.bincount(i, minlength=n_sources) + np.bincount(j, minlength=n_sources)
    return np.divide(earned, games, out=np.full(n_sources, np.nan), where=games > 0)


@dataclass(frozen=True, slots=True)
class ControlledShare:
    """Two sources that differ in one thing, over the cases both have.

    `share` is the first source's part of all points, None if no finding was decisive. `separated`:
    the interval excludes ½. Wins, losses and ties leave out empty games (no decisive finding);
    `empty` counts them.
    """

    cases: int
    empty: int
    points: float
    share: float | None
    low: float | None
    high: float | None
    wins: int
    losses: int
    ties: int

    @property
    def separated(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 0.5 <= self.high


def pool_shares(
    charged_first: Sequence[float],
    charged_second: Sequence[float],
    case: ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> ControlledShare:
    """Return the pooled share of the first source with its interval.

    The interval is by percentiles over resampled cases. Points pool over games, so a case with many
    findings weighs more. Without `case` every game is a case of its own. Resamples without points
    are left out. Raises ValueError for unequal lengths.
    """
    one, two = (
        np.asarray(charged_first, dtype=np.float64),
        np.asarray(charged_second, dtype=np.float64),
    )
    if one.shape != two.shape or one.ndim != 1:
        raise ValueError("one charge a game for each of the two sources")
    _, cases = np.unique(
        np.arange(len(one)) if case is None else np.asarray(case), return_inverse=True
    )
    n = int(cases.max()) + 1 if len(one) else 0
    total = float((one + two).sum())
    low = high = None
    if n > 1 and total > 0:
        columns = [np.bincount(cases, points, n) for points in (two, one + two)]
        by_case = np.stack(columns, axis=1).astype(np.float64)
        mine, points = sum_resamples(by_case, resamples, seed).T
        found = mine[points > 0] / points[points > 0]
        low, high = (
            (float(v) for v in np.percentile(found, [2.5, 97.5])) if len(found) else (None, None)
        )
    return ControlledShare(
        cases=len(one),
        empty=int(((one + two) == 0).sum()),
        points=total,
        share=float(two.sum() / total) if total else None,
        low=low,
        high=high,
        wins=int((two > one).sum()),
        losses=int((one > two).sum()),
        ties=int(((one == two) & (one > 0)).sum()),
    )
