"""Measure how fast Bradley–Terry ratings are resampled by case.

Run `python -m benchmarks.ratings`. The peers are choix (`ilsr_pairwise_dense`) and evalica, each in
the loop that its interface needs: one call a resample of the same drawn cases. choix takes a matrix
of the points that each source earned against each other. evalica takes weighted games, given once
as one row a game and side and once as one row a pair and side, which is its smallest input. Both
run with their default tolerances. On the data without resampling all solutions are equal to a
millionth of a point, with a general optimiser as the fourth. 374 games of 40 cases between 5
sources are the published schedule, between 11 sources a fuller one; the goal is a ratio of 25 to
the faster peer. Then growth to 200 sources is measured, with games in proportion.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import choix
import evalica
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from adjudication.scoring.bradley_terry import (
    CENTRE,
    RESAMPLES,
    SCALE,
    SEED,
    bootstrap_ratings,
    ratings,
)

GOAL_RATIO = 25.0
GAMES, CASES = 374, 40
SOURCES = (5, 11)
GROWTH = (25, 50, 100, 200)
#: Tolerance of the solutions that are compared with each other; the loops use each peer's own.
FINE = 1e-13
EQUAL = 1e-6
T = TypeVar("T")
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Schedule:
    """Games of a league: sources, the first's share and the case, one a game."""

    sources: int
    first: Indices
    second: Indices
    share: Matrix
    case: Indices

    @cached_property
    def index(self) -> pd.Index:
        return pd.Index(range(self.sources))

    def draw(self, resamples: int) -> Indices:
        """Return (resamples, games): the count of each game in each resample.

        The draws are those of `bootstrap_ratings`.
        """
        cases = np.unique(self.case)
        picks = np.random.default_rng(SEED).integers(0, len(cases), size=(resamples, len(cases)))
        return np.stack(
            [
                np.bincount(row, minlength=len(cases))[np.searchsorted(cases, self.case)]
                for row in picks
            ]
        )

    def sum_points(self, times: Indices) -> Matrix:
        """Return (sources, sources): points that each earned against each other.

        Each game counts `times` (games,).
        """
        n = self.sources
        cells = np.concatenate([self.first * n + self.second, self.second * n + self.first])
        points = np.concatenate([times * self.share, times * (1.0 - self.share)])
        return np.asarray(np.bincount(cells, points, n * n).reshape(n, n), dtype=np.float64)


def fit_choix(games: Schedule, times: Indices, **options: float) -> Matrix:
    return scale_ratings(np.asarray(choix.ilsr_pairwise_dense(games.sum_points(times), **options)))


def fit_evalica(games: Schedule, times: Indices, **options: float) -> Matrix:
    """One row a game and side, weighted by the points earned."""
    one, two = (
        np.concatenate([games.first, games.second]),
        np.concatenate([games.second, games.first]),
    )
    return _evalica(
        games, one, two, np.concatenate([times * games.share, times * (1.0 - games.share)]), options
    )


def fit_evalica_pairs(games: Schedule, times: Indices, **options: float) -> Matrix:
    """One row a pair and side."""
    earned = games.sum_points(times)
    one, two = np.nonzero(earned)
    return _evalica(games, one, two, earned[one, two], options)


def _evalica(
    games: Schedule, one: Indices, two: Indices, weights: Matrix, options: dict[str, float]
) -> Matrix:
    won = [evalica.Winner.X] * len(one)
    found = evalica.bradley_terry(
        one.tolist(), two.tolist(), won, index=games.index, weights=weights.tolist(), **options
    )
    return scale_ratings(np.log(found.scores.loc[games.index].to_numpy()))


PEERS: dict[str, Callable[..., Matrix]] = {
    "choix": fit_choix,
    "evalica": fit_evalica,
    "evalica in pairs": fit_evalica_pairs,
}
FINEST: dict[str, dict[str, float]] = {
    name: (
        {"tol": FINE, "max_iter": 1000} if name == "choix" else {"tolerance": FINE, "limit": 10_000}
    )
    for name in PEERS
}


def main() -> int:
    """Print times and ratios; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--largest", type=int, default=GROWTH[-1], help="sources, at the end of the growth"
    )
    options = parser.parse_args()
    random = np.random.default_rng(7)
    worst = math.inf
    for sources in SOURCES:
        games = make_schedule(random, sources, GAMES)
        difference = largest_difference(games)
        print(
            f"{sources} sources, {GAMES} games, {options.resamples} resamples; solutions differ by"
            f" {difference:.0e} points at most"
        )
        worst = min(worst, compare_peers(games, options.resamples, options.repeat))
    print(f"lowest ratio to the faster peer: {worst:.1f} (goal {GOAL_RATIO:.0f})")
    for sources in GROWTH:
        if sources <= options.largest:
            measure_growth(
                make_schedule(random, sources, GAMES * sources // SOURCES[-1]), options.resamples
            )
    return 0 if worst >= GOAL_RATIO else 1


def compare_peers(games: Schedule, resamples: int, repeat: int) -> float:
    """How many times longer the faster peer takes for all resamples."""
    times = games.draw(resamples)
    fastest, ours = math.inf, math.inf
    for name, peer in PEERS.items():
        seconds, found = time_best(partial(bootstrap, games, resamples), repeat)
        theirs, looped = time_best(partial(fit_each, peer, games, times), 2)
        sound = ~np.isnan(found).any(axis=1)
        apart = np.abs(found - looped)[sound].max()
        print(
            f"  {name}: {theirs:.2f} s, ours {1000 * seconds:.1f} ms, ratio {theirs / seconds:.1f};"
            f" up to {apart:.0e} points apart"
        )
        fastest, ours = min(fastest, theirs), min(ours, seconds)
    return fastest / ours


def measure_growth(games: Schedule, resamples: int) -> None:
    """Print the time of a resample: of many of ours, of one call of each peer.

    Raises AssertionError if most resamples have no ratings: then nothing was measured.
    """
    seconds, found = time_best(partial(bootstrap, games, resamples), 1)
    once = np.ones_like(games.case)
    peers = ", ".join(
        f"{name} {time_single_call(partial(peer, games, once))}" for name, peer in PEERS.items()
    )
    left_out = int(np.isnan(found).any(axis=1).sum())
    assert 2 * left_out < resamples, (
        f"{left_out} of {resamples} resamples of {games.sources} sources have no ratings"
    )
    print(
        f"{games.sources} sources, {len(games.case)} games: {seconds:.2f} s for {resamples}"
        f" resamples ({left_out} without ratings)"
    )
    print(f"  {1000 * seconds / resamples:.2f} ms a resample; one call of {peers}")


def time_single_call(work: Callable[[], Matrix]) -> str:
    """Its time."""
    return f"{1000 * time_best(work, 3)[0]:.2f} ms"


def fit_each(peer: Callable[..., Matrix], games: Schedule, times: Indices) -> Matrix:
    return np.stack([peer(games, row) for row in times])


def largest_difference(games: Schedule) -> float:
    """Return the largest difference in points between the solutions.

    It compares our ratings with those of each peer and of the optimiser, on all games once. Raises
    AssertionError above a millionth.
    """
    once = np.ones_like(games.case)
    ours = ratings(games.first, games.second, games.share, games.sources)
    others = [peer(games, once, **FINEST[name]) for name, peer in PEERS.items()] + [optimise(games)]
    apart = max(float(np.abs(ours - other).max()) for other in others)
    assert apart < EQUAL, f"solutions are {apart} points apart"
    return apart


def optimise(games: Schedule) -> Matrix:
    """Return the ratings of a general optimiser with derivatives.

    It maximises the log-likelihood, with the first source fixed at 0.
    """
    first, second, share, n = games.first, games.second, games.share, games.sources

    def expected(x: Matrix) -> Matrix:
        return np.asarray(1.0 / (1.0 + np.exp(x[second] - x[first])), dtype=np.float64)

    def summed(per_game: Matrix) -> Matrix:
        return np.asarray(
            np.bincount(first, per_game, n) - np.bincount(second, per_game, n), dtype=np.float64
        )

    def loss(free: Matrix) -> float:
        x = np.concatenate([[0.0], free])
        return float(
            (
                share * np.logaddexp(0, x[second] - x[first])
                + (1 - share) * np.logaddexp(0, x[first] - x[second])
            ).sum()
        )

    def slope(free: Matrix) -> Matrix:
        x = np.concatenate([[0.0], free])
        return (summed(expected(x) - share))[1:]

    def curve(free: Matrix) -> Matrix:
        p = expected(np.concatenate([[0.0], free]))
        sides = np.zeros((len(first), n))
        sides[np.arange(len(first)), first], sides[np.arange(len(first)), second] = 1.0, -1.0
        return np.asarray((sides.T * (p * (1 - p))) @ sides)[1:, 1:]

    found = minimize(
        loss, np.zeros(n - 1), jac=slope, hess=curve, method="trust-exact", options={"gtol": 1e-11}
    )
    return scale_ratings(np.concatenate([[0.0], found.x]))


def make_schedule(random: np.random.Generator, sources: int, games: int) -> Schedule:
    """Return games of sources of unequal strength, dealt over the cases.

    If there are more pairs than games, the pairs that meet are drawn.
    """
    strength = random.normal(0, 0.5, sources)
    pairs = [(i, j) for i in range(sources) for j in range(i)]
    chosen = np.array(pairs)[random.permutation(np.resize(random.permutation(len(pairs)), games))]
    first, second = chosen.T
    p = 1.0 / (1.0 + np.exp(strength[second] - strength[first]))
    return Schedule(
        sources, first, second, random.beta(3 * p, 3 * (1 - p)), np.arange(games) % CASES
    )


def bootstrap(games: Schedule, resamples: int) -> Matrix:
    return bootstrap_ratings(
        games.first, games.second, games.share, games.case, games.sources, resamples
    )


def scale_ratings(strengths: Matrix) -> Matrix:
    return np.asarray(CENTRE + SCALE * (strengths - strengths.mean()), dtype=np.float64)


def time_best(work: Callable[[], T], repeat: int) -> tuple[float, T]:
    """Return the shortest of several runs, in seconds, and its result."""
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - started)
    return min(times), result


if __name__ == "__main__":
    raise SystemExit(main())
