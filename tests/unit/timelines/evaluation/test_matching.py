"""Greedy and optimal matching, compared with the paper's recursion.

The recursion is written out as it is printed.
"""

import itertools
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from timelines.evaluation import matching
from timelines.evaluation.matching import cut, greedy_order, match_events

NAN, INF = float("nan"), float("inf")
#: Few different numbers, so that ties and duplicates are the rule.
COARSE = st.sampled_from([0.0, -0.0, 0.01, 0.05, 0.1, 0.1, 0.3, 1.0])
SHAPES = st.tuples(st.integers(0, 9), st.integers(0, 9))
MATRICES = SHAPES.flatmap(
    lambda shape: arrays.arrays(np.float64, shape, elements=COARSE | st.floats(-0.5, 2))
)


def paper_recursion(distance, ref, pred):
    """Return the recursive best match of the paper's appendix, line by line.

    `ref` and `pred` are the indices still unmatched.
    """
    if not ref or not pred:
        return []
    min_distance, best_pair = INF, None
    for r in ref:
        for p in pred:
            d = distance[r][p]
            if d < min_distance:
                min_distance, best_pair = d, (r, p)
            elif d == min_distance:
                lower_ref, same_ref = (
                    ref.index(r) < ref.index(best_pair[0]),
                    ref.index(r) == ref.index(best_pair[0]),
                )
                if lower_ref or (same_ref and pred.index(p) < pred.index(best_pair[1])):
                    best_pair = (r, p)
    rest = paper_recursion(
        distance, [r for r in ref if r != best_pair[0]], [p for p in pred if p != best_pair[1]]
    )
    return [best_pair, *rest]


def recursion(matrix):
    return paper_recursion(
        matrix.tolist(), list(range(matrix.shape[0])), list(range(matrix.shape[1]))
    )


@given(MATRICES)
def test_the_order_is_that_of_the_papers_recursion(matrix):
    assert greedy_order(matrix) == [(r, p, matrix[r, p]) for r, p in recursion(matrix)]


@given(MATRICES, st.floats(-1, 2))
def test_matches_are_those_of_the_recursion_below_the_threshold(matrix, threshold):
    assert match_events(matrix, threshold) == [
        (r, p) for r, p in recursion(matrix) if matrix[r, p] < threshold
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("decimals", [1, 2, 16])
def test_larger_matrices_with_duplicate_events(seed, decimals):
    random = np.random.default_rng(seed)
    matrix = random.random((45, 60)).round(decimals)
    matrix[random.integers(0, 45, 15)] = matrix[3]
    matrix[:, random.integers(0, 60, 15)] = matrix[:, [5]]
    assert [(r, p) for r, p, _ in greedy_order(matrix)] == recursion(matrix)


@pytest.mark.parametrize("shape", [(40, 50), (50, 40)])
def test_where_most_distances_are_equal_all_are_sorted_at_once(shape, monkeypatch):
    """So few pairs a round that the rest is sorted as a whole."""
    sorted_out = Mock(side_effect=matching._match_sorted)
    monkeypatch.setattr(matching, "_match_sorted", sorted_out)
    matrix = np.full(shape, 0.5)
    matrix[7, 9] = matrix[30, 2] = 0.25
    assert [(r, p) for r, p, _ in greedy_order(matrix)] == recursion(matrix)
    assert sorted_out.call_count == 1


def test_a_chain_where_each_choice_frees_the_next():
    # Each event's closest is taken by a closer one, but for the first: one mutual choice a round.
    matrix = np.array([[abs(1.5**r - 1.2 * 1.5**p) for p in range(40)] for r in range(40)])
    assert [(r, p) for r, p, _ in greedy_order(matrix)] == recursion(matrix)


@settings(deadline=None)
@given(MATRICES)
def test_one_order_serves_the_whole_sweep(matrix):
    order = greedy_order(matrix)
    for threshold in [n / 100 for n in range(1, 51)]:
        assert cut(order, threshold) == match_events(matrix, threshold)


@settings(deadline=None)  # the first assignment loads its library
@given(MATRICES, st.sampled_from([0.05, 0.1, 0.31]), st.sampled_from(["greedy", "assignment"]))
def test_each_event_is_in_one_pair_at_most(matrix, threshold, method):
    pairs = match_events(matrix, threshold, method)
    assert len({r for r, _ in pairs}) == len({p for _, p in pairs}) == len(pairs)
    assert all(matrix[r, p] < threshold for r, p in pairs)


def test_by_hand():
    # 0.02 at (1, 1) is the closest and goes first; 0.03 and 0.04 share an event with it; then 0.08
    # at (0, 0). (2, 2) is at the threshold.
    distance = np.array([[0.08, 0.03, 0.9], [0.04, 0.02, 0.9], [0.9, 0.9, 0.1]])
    assert match_events(distance) == [(1, 1), (0, 0)]
    assert greedy_order(distance) == [(1, 1, 0.02), (0, 0, 0.08), (2, 2, 0.1)]


def test_the_threshold_is_strict():
    assert match_events(np.array([[0.1]])) == []
    assert match_events(np.array([[0.1]]), 0.1000001) == [(0, 0)]
    assert match_events(np.array([[5.0]]), INF) == [(0, 0)]


def test_ties_go_to_the_lower_reference_then_the_lower_prediction():
    assert match_events(np.zeros((2, 3))) == [(0, 0), (1, 1)]
    assert match_events(np.array([[0.05, 0.0], [0.0, 0.05]])) == [(0, 1), (1, 0)]
    assert match_events(np.array([[0.0, -0.0]])) == [(0, 0)]


@pytest.mark.parametrize(
    "distance", [[], np.empty((0, 4)), np.empty((3, 0)), np.empty((0, 0)), [[]]]
)
@pytest.mark.parametrize("method", ["greedy", "assignment"])
def test_nothing_to_match(distance, method):
    assert match_events(distance, method=method) == []
    assert greedy_order(distance) == []


@pytest.mark.parametrize("method", ["greedy", "assignment"])
@pytest.mark.parametrize(
    ("distance", "threshold", "words"),
    [
        ([[0.1, NAN]], 0.1, "NaN or infinity"),
        ([[0.1], [INF]], 0.1, "NaN or infinity"),
        ([[-INF]], 0.1, "NaN or infinity"),
        ([0.1, 0.2], 0.1, "1 dimensions"),
        (np.zeros((1, 1, 1)), 0.1, "3 dimensions"),
        ([[0.1]], NAN, "threshold"),
    ],
)
def test_refused(method, distance, threshold, words):
    with pytest.raises(ValueError, match=words):
        match_events(distance, threshold, method)


def test_unknown_method():
    with pytest.raises(ValueError, match="greedy or assignment"):
        match_events([[0.1]], method="best")


def test_assignment_by_hand():
    # Greedy takes 0.01 and is left with 0.09; together 0.10. The other way round it is 0.02 + 0.03.
    distance = np.array([[0.01, 0.02], [0.03, 0.09]])
    assert match_events(distance) == [(0, 0), (1, 1)]
    assert match_events(distance, method="assignment") == [(0, 1), (1, 0)]


def test_assignment_prefers_one_more_pair_to_a_smaller_sum():
    # (0, 0) alone costs 0.0, but then nothing below 0.1 is left for reference 1; both can be
    # matched at 0.09 each.
    distance = np.array([[0.0, 0.09], [0.09, 0.1]])
    assert match_events(distance) == [(0, 0)]
    assert match_events(distance, method="assignment") == [(0, 1), (1, 0)]


@settings(deadline=None)
@given(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).flatmap(
        lambda s: arrays.arrays(np.float64, s, elements=COARSE)
    )
)
def test_assignment_is_the_best_of_all_matchings(matrix):
    threshold = 0.1
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    matchings = [
        [wide[r, p] for r, p in enumerate(chosen) if wide[r, p] < threshold]
        for chosen in itertools.permutations(range(wide.shape[1]), len(wide))
    ]
    most, cost = min((-len(found), sum(found)) for found in matchings)
    pairs = match_events(matrix, threshold, "assignment")
    assert len(pairs) == -most
    assert sum(matrix[r, p] for r, p in pairs) == pytest.approx(cost)
    assert pairs == sorted(pairs)


def test_neither_the_solver_nor_the_framework_is_loaded_with_the_module():
    loaded = "import sys, timelines.evaluation.matching; print([m for m in ('scipy', 'django') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
