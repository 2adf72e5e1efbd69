"""Systems of differences, counts, and order, by values derived by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from cohorts.engine.differences import Atom, Differences
from cohorts.engine.formulas import Count, conjoin, count, disjoin, list_forced, negate
from cohorts.engine.order import judge_which
from cohorts.engine.solving import Budget, GaveUp, can_be
from cohorts.engine.worlds import draw_shares

X, Y, Z = 1, 2, 3


def at_most(x: int, y: int, number: float) -> Atom:
    return Atom(x, y, (number, 0))


def less(x: int, y: int, number: float = 0.0) -> Atom:
    return Atom(x, y, (number, -1))


def test_bounds_decide_statements():
    known = Differences([(0, 2), (2, 5)])
    assert known.decide(at_most(X, Y, 0)) is True
    assert known.decide(less(X, Y)) is None
    assert known.decide(less(Y, X)) is False
    assert known.decide(at_most(Y, X, 0)) is None
    assert known.decide(at_most(Y, X, 5)) is True
    assert known.decide(less(Y, X, 5)) is None


def test_a_cycle_that_is_zero_and_strict_has_no_solution():
    known = Differences([(0, 9)] * 3).add(at_most(X, Y, 0))
    assert known is not None
    known = known.add(at_most(Y, Z, 0))
    assert known is not None
    assert known.decide(at_most(X, Z, 0)) is True
    assert known.add(at_most(Z, X, 0)) is not None
    assert known.add(less(Z, X)) is None


def test_open_bounds_stay_open():
    known = Differences([(-math.inf, math.inf), (3, math.inf)])
    assert known.decide(less(X, Y)) is None
    narrowed = known.add(at_most(Y, X, -1))
    assert narrowed is not None
    assert narrowed.decide(at_most(0, X, -4)) is True


def test_the_opposite_of_the_opposite():
    for atom in (less(X, Y, 3), at_most(X, Y, -2)):
        assert atom.negate().negate() == atom
    assert less(X, Y, 3).negate() == at_most(Y, X, -3)


def test_counts_without_known_parts():
    a, b = less(X, Y), less(Y, Z)
    assert conjoin([True, True]) is True
    assert conjoin([a, False]) is False
    assert conjoin([a, True]) == a
    assert disjoin([]) is False
    assert disjoin([a, True]) is True
    assert negate(True) is False
    assert count(2, 3, [True, a, b, False]) == Count(1, 2, (a, b))
    assert count(0, math.inf, [a, b]) is True
    assert count(3, 3, [a, b]) is False
    assert count(0, 1, [True, True]) is False


def test_forced_statements():
    a, b = less(X, Y), less(Y, Z)
    assert list(list_forced(conjoin([a, b]))) == [a, b]
    assert list(list_forced(disjoin([a, b]))) == []
    assert list(list_forced(negate(disjoin([a, b])))) == [a.negate(), b.negate()]
    assert list(list_forced(negate(conjoin([a, b])))) == []


def test_exactly_one_of_three_orders():
    known = Differences([(0, 9)] * 3)
    cycle = [less(X, Y), less(Y, Z), less(Z, X)]
    assert can_be(True, count(2, 2, cycle), known, Budget())
    assert not can_be(True, count(3, 3, cycle), known, Budget())
    # None: all three equal.
    assert can_be(True, count(0, 0, cycle), known, Budget())
    with pytest.raises(GaveUp):
        can_be(True, count(2, 2, cycle), known, Budget(3))


@pytest.mark.parametrize(
    ("bounds", "which", "statuses"),
    [
        ([(1, 1), (2, 2), (3, 3)], 1, {0: 2}),
        ([(1, 1), (2, 2), (3, 3)], 2, {1: 2}),
        ([(1, 1), (2, 2), (3, 3)], -1, {2: 2}),
        ([(1, 1), (2, 2)], 3, {}),
        # Equal times: the order of the note.
        ([(1, 1), (1, 1)], 1, {0: 2}),
        ([(1, 1), (1, 1)], -1, {1: 2}),
        # Bounds that touch: the first one is first even at the same time.
        ([(1, 2), (2, 3)], 1, {0: 2}),
        ([(2, 3), (1, 2)], 1, {0: 1, 1: 1}),
        ([(1, 4), (2, 3), (9, 9)], 1, {0: 1, 1: 1}),
        ([(1, 4), (2, 3), (9, 9)], 3, {2: 2}),
        ([(1, 9), (2, 3), (4, 5)], 2, {0: 1, 1: 1, 2: 1}),
        ([(-math.inf, math.inf), (2, 2)], -1, {0: 1, 1: 1}),
    ],
)
def test_which_occurrence_in_three_values(bounds, which, statuses):
    found = pl.DataFrame(
        {
            "stay": [1] * len(bounds),
            "fact": range(len(bounds)),
            "ordinal": pl.Series(range(len(bounds)), dtype=pl.Int32),
            "lower": [float(low) for low, _ in bounds],
            "upper": [float(high) for _, high in bounds],
            "status": pl.Series([2] * len(bounds), dtype=pl.Int8),
        }
    )
    judged = judge_which(found, which).filter(pl.col("status") > 0)
    assert dict(judged.select("fact", "status").iter_rows()) == statuses


def test_one_whose_value_is_unknown_may_come_first():
    found = pl.DataFrame(
        {
            "stay": [1, 1],
            "fact": [7, 8],
            "ordinal": pl.Series([0, 1], dtype=pl.Int32),
            "lower": [1.0, 2.0],
            "upper": [1.0, 2.0],
            "status": pl.Series([1, 2], dtype=pl.Int8),
        }
    )
    assert judge_which(found, 1)["status"].to_list() == [1, 1]


def test_draws_are_spread_evenly():
    worlds = np.arange(1024)
    for place in range(5):
        shares = draw_shares(np.full(1024, place), worlds)
        filled = np.bincount((shares * 16).astype(int), minlength=16)
        assert filled.min() >= 60, place
        assert filled.max() <= 68, place
