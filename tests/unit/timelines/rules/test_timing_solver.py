"""The choice among alternatives along a chain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.backbones.rules.timing.solver import close_to_best, least_costs

Chain = tuple[np.ndarray, list[np.ndarray]]


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Return chains of up to four times with whole costs."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    costs = st.integers(0, 20)
    first = np.array([float(draw(costs)) for _ in range(sizes[0])])
    steps = [
        np.array([[float(draw(costs)) for _ in range(m)] for _ in range(k)])
        for k, m in itertools.pairwise(sizes)
    ]
    return first, steps


def try_all(first: np.ndarray, steps: list[np.ndarray]) -> list[float]:
    """Return the least costs by trying every joint choice."""
    best = [np.inf] * len(first)
    for path in itertools.product(range(len(first)), *(range(s.shape[1]) for s in steps)):
        cost = first[path[0]] + sum(
            step[a, b] for step, (a, b) in zip(steps, itertools.pairwise(path), strict=True)
        )
        best[path[0]] = min(best[path[0]], cost)
    return best


def test_three_times_are_chosen_together() -> None:
    # Alone, the first time would be alternative 0 (cost 1). Alternative 1 costs 3, but the second
    # time follows it at 0 instead of 5, and the third costs 2 after either.
    first = np.array([1.0, 3.0])
    steps = [np.array([[5.0, 6.0], [9.0, 0.0]]), np.array([[2.0], [2.0]])]
    assert least_costs(first, steps).tolist() == [1 + 5 + 2, 3 + 0 + 2]


def test_without_anything_that_follows_the_own_costs_decide() -> None:
    assert least_costs(np.array([4.0, 2.0]), []).tolist() == [4.0, 2.0]


def test_what_is_excluded_costs_infinitely_much() -> None:
    first = np.array([0.0, 7.0])
    step = np.array([[np.inf, np.inf], [np.inf, 1.0]])
    assert least_costs(first, [step]).tolist() == [np.inf, 8.0]


@given(chains())
def test_the_costs_are_those_of_trying_every_joint_choice(chain: Chain) -> None:
    assert least_costs(*chain).tolist() == pytest.approx(try_all(*chain))


@given(chains())
def test_the_order_of_alternatives_changes_nothing(chain: Chain) -> None:
    first, steps = chain
    order = np.random.default_rng(len(first)).permutation(len(first))
    shuffled = [steps[0][order], *steps[1:]] if steps else []
    assert least_costs(first[order], shuffled).tolist() == least_costs(first, steps)[order].tolist()


@given(chains())
def test_a_constraint_that_every_choice_satisfies_changes_nothing(chain: Chain) -> None:
    first, steps = chain
    last = steps[-1].shape[1] if steps else len(first)
    satisfied = np.zeros((last, 1))
    assert least_costs(first, [*steps, satisfied]).tolist() == least_costs(first, steps).tolist()


def test_alternatives_close_to_the_best_come_in_order_of_cost() -> None:
    costs = np.array([9.0, 4.0, 30.0, 4.0])
    assert close_to_best(costs, 0.0) == [1, 3]
    assert close_to_best(costs, 6.0) == [1, 3, 0]
