"""Measure how fast events are matched and a sweep is resampled.

Run `python -m benchmarks.matching`. The peer is the paper's recursion as it is printed, in Python,
on the same precomputed distances; both must give the same pairs. Matching is measured without a
threshold, so that the whole matching is made. Distances are uniform, of embedded mentions (each
reference event with a noisy copy) and of duplicated ones (many exact ties). The goal is a ratio of
50 at 300 events in each. Then a report's heavy part is measured: matching, and match rate,
concordance and AULTC with their intervals over a sweep of 40 cases, 50 thresholds and 200
resamples, under 5 seconds.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from timelines.evaluation.aultc import aultc
from timelines.evaluation.concordance import concordance
from timelines.evaluation.distances import cosine_distance
from timelines.evaluation.matching import cut, greedy_order, match_events
from timelines.evaluation.resamples import Resamples

GOAL_RATIO = 50.0
GOAL_SECONDS = 5.0
SIZES = (50, 100, 200, 300)
THRESHOLDS = [n / 100 for n in range(1, 51)]
T = TypeVar("T")


def main() -> int:
    """Print times and ratios; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument(
        "--events", type=int, default=120, help="reference events a case, in the sweep"
    )
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    random = np.random.default_rng(11)
    ratios = [
        compare_recursion(name, make(random, size), options.repeat)
        for name, make in KINDS.items()
        for size in SIZES
    ]
    worst = min(ratios[len(SIZES) - 1 :: len(SIZES)])
    print(f"lowest ratio at {SIZES[-1]} events: {worst:.0f} (goal {GOAL_RATIO:.0f})")
    cases = [make_case(random, options.events) for _ in range(options.cases)]
    seconds, _ = time_best(lambda: sweep_thresholds(cases, options.resamples), options.repeat)
    size = (
        f"{options.cases} cases of {options.events} events × {len(THRESHOLDS)} thresholds ×"
        f" {options.resamples} resamples"
    )
    print(
        f"{size}: {seconds:.2f} s, ratio to the goal {GOAL_SECONDS / seconds:.1f} (goal"
        f" {GOAL_SECONDS:.0f} s)"
    )
    return 0 if worst >= GOAL_RATIO and seconds <= GOAL_SECONDS else 1


def compare_recursion(name: str, distance: NDArray[np.float64], repeat: int) -> float:
    """How many times longer the recursion takes on one matrix."""
    ours, pairs = time_best(lambda: match_events(distance, math.inf), repeat)
    table, indices = distance.tolist(), list(range(len(distance)))
    peer, expected = time_best(lambda: match_recursively(table, indices, indices), 2)
    assert pairs == expected
    print(
        f"{name}, {len(distance)} events: {ours * 1000:.2f} ms, the recursion {peer * 1000:.0f} ms,"
        f" ratio {peer / ours:.0f}"
    )
    return peer / ours


def match_recursively(
    distance: list[list[float]], ref: list[int], pred: list[int]
) -> list[tuple[int, int]]:
    """Return the paper's recursive best match over the remaining events.

    The events are in order, so the first of equal pairs is the lower one.
    """
    if not ref or not pred:
        return []
    closest, pair = math.inf, (ref[0], pred[0])
    for r in ref:
        row = distance[r]
        for p in pred:
            if row[p] < closest:
                closest, pair = row[p], (r, p)
    return [
        pair,
        *match_recursively(
            distance, [r for r in ref if r != pair[0]], [p for p in pred if p != pair[1]]
        ),
    ]


def make_uniform_distances(random: np.random.Generator, size: int) -> NDArray[np.float64]:
    return random.random((size, size))


def make_embedded_distances(random: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Return cosine distances of vectors to noisy copies of them.

    The noise of each copy has its own strength.
    """
    vectors = random.normal(size=(size, 384))
    return cosine_distance(
        vectors, vectors + random.normal(size=vectors.shape) * random.uniform(0.05, 2.0, (size, 1))
    )


def make_duplicate_distances(random: np.random.Generator, size: int) -> NDArray[np.float64]:
    """A fifth as many different mentions as events, on both sides."""
    chosen = random.integers(0, size // 5, size=(2, size))
    return np.ascontiguousarray(make_embedded_distances(random, size // 5)[np.ix_(*chosen)])


KINDS: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "uniform": make_uniform_distances,
    "embedded": make_embedded_distances,
    "duplicated": make_duplicate_distances,
}


def make_case(
    random: np.random.Generator, events: int
) -> tuple[NDArray[np.float64], list[float], list[float]]:
    """Return distances, reference times and predicted times of one case.

    Errors range over several orders of magnitude.
    """
    reference = random.integers(-48, 240, events).astype(float)
    predicted = reference + random.integers(-1, 2, events) * np.round(
        np.exp(random.uniform(0, 6, events))
    )
    return make_embedded_distances(random, events), reference.tolist(), predicted.tolist()


def sweep_thresholds(
    cases: list[tuple[NDArray[np.float64], list[float], list[float]]], count: int
) -> list[tuple[object, ...]]:
    """Return match rate, concordance and AULTC at each threshold.

    Each has its interval; matching is done once for each case.
    """
    orders = [greedy_order(distance) for distance, _, _ in cases]
    resamples = Resamples.draw(len(cases), count)
    events = [len(reference) for _, reference, _ in cases]
    s_max = max(
        abs(case[1][r] - case[2][p])
        for case, order in zip(cases, orders, strict=True)
        for r, p in cut(order, THRESHOLDS[-1])
    )
    points: list[tuple[object, ...]] = []
    for threshold in THRESHOLDS:
        matched, orderly, errors = [], [], []
        for (_, reference, predicted), order in zip(cases, orders, strict=True):
            pairs = cut(order, threshold)
            truth, guess = [reference[r] for r, _ in pairs], [predicted[p] for _, p in pairs]
            matched.append(len(pairs))
            orderly.append(concordance(truth, guess))
            errors.append([abs(a - b) for a, b in zip(truth, guess, strict=True)])
        drawn = (
            resamples.ratio(matched, events),
            resamples.median_of_cases(orderly),
            resamples.aultc(errors, s_max),
        )
        median = float(np.median([value for value in orderly if value is not None]))
        area = aultc([error for case in errors for error in case], s_max)
        points.append(
            (
                threshold,
                sum(matched) / sum(events),
                median,
                area,
                *(resamples.interval(values) for values in drawn),
            )
        )
    return points


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
