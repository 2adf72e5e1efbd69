"""Intervals over resamples of cases.

The fast form over weights is compared with the plain one, case by case.
"""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timelines.evaluation.aultc import aultc, aultc_ref
from timelines.evaluation.bootstrap import percentile_interval, resample_indices
from timelines.evaluation.resamples import Resamples

ERRORS = st.lists(
    st.lists(st.sampled_from([0.0, 2.0]) | st.floats(0, 1e4), max_size=6), min_size=2, max_size=8
)
SEEDS = st.integers(0, 2**32 - 1)


def pool_errors(cases):
    return [error for case in cases for error in case]


def plain(cases, statistic, resamples):
    """The statistic of each resample, by looking at its cases again."""
    return [statistic([cases[i] for i in row]) for row in resamples.indices]


def approximate(values):
    return pytest.approx(
        [math.nan if value is None else value for value in values], nan_ok=True, abs=1e-9
    )


def test_indices_are_cases_the_same_each_time():
    drawn = resample_indices(5, 100, seed=3)
    assert drawn.shape == (100, 5)
    assert set(drawn.ravel()) == {0, 1, 2, 3, 4}
    assert (drawn == resample_indices(5, 100, seed=3)).all()
    assert (drawn != resample_indices(5, 100, seed=4)).any()


def test_percentiles_by_hand():
    # 0…200: 2.5 % of the way along 200 steps is 5, 97.5 % is 195. Of 0…1 linear between: 0.025 and
    # 0.975.
    assert percentile_interval(range(201)) == pytest.approx((5, 195))
    assert percentile_interval([0, 1]) == pytest.approx((0.025, 0.975))
    assert percentile_interval([1.0, None, math.nan, 1.0]) == (1, 1)


def test_interval_of_a_mean():
    # 100 draws of a fair coin: the mean's standard error is 0.05, so 95 % are within about 0.098 of
    # one half.
    resamples = Resamples.draw(100, 2000, 1)
    low, high = resamples.interval(resamples.ratio([0] * 50 + [1] * 50, [1] * 100))
    assert (low, high) == (pytest.approx(0.402, abs=0.015), pytest.approx(0.598, abs=0.015))


def test_a_figure_that_never_varies():
    resamples = Resamples.draw(4)
    assert resamples.interval(resamples.ratio([3.0] * 4, [1] * 4)) == (3, 3)


def test_resamples_without_data_are_left_out():
    # Without the one case that has data there is none; with it the figure is always 5.
    resamples = Resamples.draw(3, seed=2)
    assert resamples.interval(resamples.median_of_cases([None, 5.0, None])) == (5, 5)


@pytest.mark.parametrize("cases", [[], [1.0], [None, None]])
def test_no_interval(cases):
    # Nothing; one case, which says nothing of how cases vary; none with data.
    resamples = Resamples.draw(len(cases))
    assert resamples.interval(resamples.median_of_cases(cases)) == (None, None)


def test_refused():
    with pytest.raises(ValueError, match="0 resamples"):
        resample_indices(2, resamples=0)
    with pytest.raises(ValueError, match="infinite"):
        percentile_interval([1.0, math.inf])
    with pytest.raises(ValueError, match="-1 cases"):
        resample_indices(-1)
    with pytest.raises(ValueError, match="3 numbers for 2 cases"):
        Resamples.draw(2).ratio([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="1 lists of errors for 2 cases"):
        Resamples.draw(2).aultc([[1.0]], 10)
    with pytest.raises(ValueError, match="smaller"):
        Resamples.draw(2).aultc([[1.0], [11.0]], 10)


def test_weights_by_hand():
    assert Resamples(np.array([[0, 2, 2], [1, 1, 1]])).weights.tolist() == [[1, 0, 2], [0, 3, 0]]


def test_ratio_by_hand():
    # First resample: cases 0, 1: (1 + 0) / (4 + 6). Second: case 1 twice: 0 / 12. Third: case 2
    # twice has nothing.
    resamples = Resamples(np.array([[0, 1, 2], [1, 1, 2], [2, 2, 2]]))
    assert resamples.ratio([1, 0, 0], [4, 6, 0]).tolist() == approximate([0.1, 0, None])


@settings(deadline=None)
@given(ERRORS, SEEDS)
def test_the_fast_form_equals_the_plain_one(errors, seed):
    resamples = Resamples.draw(len(errors), 20, seed)
    s_max = max([*pool_errors(errors), 1.0])
    assert resamples.aultc(errors, s_max).tolist() == approximate(
        plain(errors, lambda cases: aultc(pool_errors(cases), s_max), resamples)
    )
    assert resamples.aultc_ref(errors).tolist() == approximate(
        plain(errors, lambda cases: aultc_ref(pool_errors(cases)), resamples)
    )
    median = plain(
        errors,
        lambda cases: statistics.median(pool_errors(cases)) if pool_errors(cases) else None,
        resamples,
    )
    assert resamples.median_error(errors).tolist() == approximate(median)


@settings(deadline=None)
@given(st.lists(st.none() | st.floats(0, 1), min_size=2, max_size=9), SEEDS)
def test_median_over_cases_and_its_interval_equal_the_plain_form(values, seed):
    def median(cases):
        found = [case for case in cases if case is not None]
        return statistics.median(found) if found else None

    resamples = Resamples.draw(len(values), 20, seed)
    assert resamples.median_of_cases(values).tolist() == approximate(
        plain(values, median, resamples)
    )
    expected = percentile_interval(plain(values, median, resamples))
    assert resamples.interval(resamples.median_of_cases(values)) == (
        pytest.approx(expected) if None not in expected else expected
    )


def test_aultc_where_every_error_is_nothing():
    resamples = Resamples(np.array([[0, 1], [1, 1]]))
    assert resamples.aultc([[0.0], []], 0).tolist() == approximate([1, None])


def test_paired_differences_are_taken_within_each_resample():
    # The second is always 0.1 better, however much cases differ: no width.
    resamples = Resamples.draw(4, seed=5)
    first, second = (
        resamples.ratio([1, 5, 2, 9], [10] * 4),
        resamples.ratio([2, 6, 3, 10], [10] * 4),
    )
    assert resamples.interval(second - first) == pytest.approx((0.1, 0.1))
    low, high = resamples.interval(first)
    assert high - low > 0.2


def test_no_interval_for_fewer_than_two_cases():
    assert Resamples.draw(1).interval(Resamples.draw(1).ratio([1], [2])) == (None, None)
    none = Resamples.draw(0)
    for values in (
        none.ratio([], []),
        none.median_of_cases([]),
        none.aultc([], 1),
        none.aultc_ref([]),
        none.median_error([]),
    ):
        assert values.shape == (200,)
        assert np.isnan(values).all()
        assert none.interval(values) == (None, None)
