"""AULTC as printed, summed as printed, with round logs by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.evaluation.aultc import U, aultc, aultc_ref

E = math.e
ERRORS = st.lists(st.sampled_from([0.0, 1.0, 24.0]) | st.floats(0, 1e5), max_size=30)


def sum_over_horizon(errors, s_max):
    """Return the paper's sum over the horizon.

    The sum is steps of the sorted logs times i/k, then the rest up to the horizon.
    """
    x = [0.0, *sorted(math.log(1 + error) for error in errors)]
    k, horizon = len(errors), math.log(1 + s_max)
    return (sum((x[i] - x[i - 1]) * i / k for i in range(1, k + 1)) + horizon - x[k]) / horizon


@given(ERRORS.filter(len), st.floats(0, 1e5))
def test_equal_to_the_printed_sum(errors, more):
    s_max = max(errors) + more
    if s_max > 1e-9:
        assert aultc(errors, s_max) == pytest.approx(sum_over_horizon(errors, s_max), abs=1e-6)
    assert 0 <= aultc(errors, s_max) <= 1 + 1e-12


def test_by_hand():
    # Errors e−1 and e³−1 have logs 1 and 3, S_max = e⁴−1 has 4. Steps: (1−0)·1/2 + (3−1)·2/2 +
    # (4−3) = 3.5, over 4.
    assert aultc([E**3 - 1, E - 1], E**4 - 1) == pytest.approx(3.5 / 4)
    # The fixed horizon: 1 − mean(1, 3) / U.
    assert aultc_ref([E**3 - 1, E - 1]) == pytest.approx(1 - 2 / U)


def test_the_largest_error_goes_free_as_printed():
    assert aultc([100.0], 100.0) == 1
    # Two errors at S_max: logs L and L; steps L·1/2 + 0 + 0, over L.
    assert aultc([100.0, 100.0], 100.0) == pytest.approx(0.5)


def test_no_error_at_all():
    assert aultc([0, 0, 0], 24) == 1
    assert aultc([0, 0, 0], 0) == 1
    assert aultc_ref([0, 0]) == 1


def test_no_data():
    assert aultc([], 10) is None
    assert aultc([], 0) is None
    assert aultc_ref([]) is None


def test_fixed_horizon():
    # The log of the minutes of 365.26 days: 525,974.4.
    assert math.exp(U) == pytest.approx(525_974.4)
    # Further out than the horizon counts as the horizon: 0 and U, mean U/2.
    assert aultc_ref([0, 1e9]) == pytest.approx(0.5)
    assert aultc_ref([1e9]) == 0


@given(ERRORS.filter(len))
def test_ref_by_its_definition(errors):
    assert aultc_ref(errors) == pytest.approx(
        1 - sum(min(math.log(1 + e), U) for e in errors) / len(errors) / U
    )


@pytest.mark.parametrize("errors", [[-0.1], [float("nan")], [float("inf")], [1.0, -1e-9]])
def test_errors_are_finite_and_not_negative(errors):
    with pytest.raises(ValueError, match="from 0 up"):
        aultc(errors, 10)
    with pytest.raises(ValueError, match="from 0 up"):
        aultc_ref(errors)


@pytest.mark.parametrize(
    ("s_max", "words"),
    [
        (-1.0, "from 0 up"),
        (float("nan"), "from 0 up"),
        (float("inf"), "from 0 up"),
        (0.5, "smaller"),
    ],
)
def test_s_max_is_finite_and_no_smaller_than_any_error(s_max, words):
    with pytest.raises(ValueError, match=words):
        aultc([0.0, 1.0], s_max)
