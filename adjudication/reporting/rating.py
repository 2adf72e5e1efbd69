"""Ratings of chosen games with their intervals and the counts that stand beside them. No Django here.

Source: protocol section 4, "Share". Disconnected groups, perfect separation and a lone source are told as the reason for no ratings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adjudication.reporting.collecting import Columns, Mask, Points
from adjudication.reporting.values import Rating, Ratings
from adjudication.scoring.bradley_terry import RESAMPLES, SEED, Undetermined, bootstrap_ratings, interval, ratings
from adjudication.scoring.shares import mean_shares

FEWEST_CASES = 2
ONE_SOURCE = "only {} has judged games: one source alone has nothing to be rated against"
NO_GAMES = "no game was judged"


def shares_of(points: Points) -> NDArray[np.float64]:
    """(games,) what the first earned of each game: the part of the points that is charged to the second, ½ of none."""
    total = points.sum(axis=1)
    return np.divide(points[:, 1], total, out=np.full(len(points), 0.5), where=total > 0)


def point_ratings(games: Columns, points: Points, mask: Mask) -> tuple[tuple[float | None, ...], str]:
    """(a rating a source or None, why there are none)."""
    found, why, _ = _rated(games, shares_of(points), mask & games.judged)
    return _per_source(games, found, why), why


def rate(games: Columns, points: Points, mask: Mask, *, resamples: int = RESAMPLES, seed: int = SEED) -> Ratings:
    """Ratings of the games in `mask` under these points (games, 2), with case-level percentile intervals.

    Sources without a judged game are listed without a rating; the others are centred on 1500.
    """
    judged = mask & games.judged
    shares = shares_of(points)
    rated, why, active = _rated(games, shares, judged)
    cases = len(np.unique(games.case[judged]))
    low = high = np.full(len(games.sources), np.nan)
    failed = 0
    drawn = resamples if not why and cases >= FEWEST_CASES else 0
    if drawn:
        samples = bootstrap_ratings(*_games(games, shares, judged, active), games.case[judged], len(active), drawn, seed)
        ends = interval(samples)
        low, high, failed = _spread(games, active, ends[0]), _spread(games, active, ends[1]), ends[2]
    counted = _Counts(games, points, mask)
    means = mean_shares(games.first[judged], games.second[judged], shares[judged], len(games.sources))
    points_of = _per_source(games, rated, why)
    rows = [counted.row(n, points_of[n], _number(low[n]), _number(high[n]), _number(means[n])) for n in range(len(games.sources))]
    return Ratings(
        rows=tuple(rows),
        cases=cases,
        games=int(judged.sum()),
        draws=int((judged & (shares == 0.5)).sum()),
        empty=int((judged & (points.sum(axis=1) == 0)).sum()),
        resamples=drawn,
        failed=failed,
        why=why,
    )


def _rated(games: Columns, shares: Points, judged: Mask) -> tuple[Points, str, NDArray[np.intp]]:
    """(ratings with NaN for who did not play, why there are none, the sources that played)."""
    active = np.unique(np.concatenate([games.first[judged], games.second[judged]]))
    empty = np.full(len(games.sources), np.nan)
    if len(active) < 2:
        return empty, NO_GAMES if not len(active) else ONE_SOURCE.format(games.sources[active[0]].label), active
    try:
        found = ratings(*_games(games, shares, judged, active), len(active), names=[games.sources[k].label for k in active])
    except Undetermined as reason:
        return empty, str(reason), active
    return _spread(games, active, found), "", active


def _games(games: Columns, shares: Points, judged: Mask, active: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp], Points]:
    """First, second and share of these games, with the sources that played numbered without gaps."""
    return np.searchsorted(active, games.first[judged]), np.searchsorted(active, games.second[judged]), shares[judged]


def _spread(games: Columns, active: NDArray[np.intp], values: Points) -> Points:
    found = np.full(len(games.sources), np.nan)
    found[active] = values
    return found


def _per_source(games: Columns, found: Points, why: str) -> tuple[float | None, ...]:
    return tuple(None if why else _number(v) for v in found)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


class _Counts:
    """What stands beside a rating, by source."""

    def __init__(self, games: Columns, points: Points, mask: Mask) -> None:
        judged, n = mask & games.judged, len(games.sources)
        one, two = points[:, 0], points[:, 1]
        empty, even = one + two == 0, one == two

        def counted(chosen: Mask) -> NDArray[np.intp]:
            return np.bincount(games.first[chosen], minlength=n) + np.bincount(games.second[chosen], minlength=n)

        def by_side(first: Mask, second: Mask) -> NDArray[np.intp]:
            return np.bincount(games.first[judged & first], minlength=n) + np.bincount(games.second[judged & second], minlength=n)

        def summed(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int64]:
            ends = ((games.first, first), (games.second, second))
            return sum((np.bincount(at[judged], v[judged], n) for at, v in ends), np.zeros(n)).astype(np.int64)

        flagged = games.counts[:, :, :, 1].sum(axis=2)
        self.columns = {
            "games": counted(judged),
            "unjudged": counted(mask & games.unjudged),
            "unfinished": counted(mask & ~games.judged & ~games.unjudged),
            "empty": counted(judged & empty),
            "wins": by_side(two > one, one > two),
            "losses": by_side(one > two, two > one),
            "ties": counted(judged & even & ~empty),
            "draws": counted(judged & even),
            "flagged": summed(games.flagged, games.flagged),
            "flagged_charged": summed(flagged[:, 0], flagged[:, 1]),
        }
        self._names = [key.label for key in games.sources]

    def row(self, n: int, rating: float | None, low: float | None, high: float | None, mean: float | None) -> Rating:
        return Rating(self._names[n], rating, low, high, mean, **{name: int(column[n]) for name, column in self.columns.items()})


