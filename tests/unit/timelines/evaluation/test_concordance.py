"""Both concordance indices: by hand, by definition, against lifelines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines.utils import concordance_index

from timelines.evaluation.concordance import PairCounts, concordance, concordance_ref, count_pairs

NAN, INF = float("nan"), float("inf")
TIMES = st.none() | st.sampled_from([-24.0, -0.0, 0.0, 1.0, 1.5, 24.0]) | st.floats(-1e6, 1e6)
EVENTS = st.lists(st.tuples(TIMES, TIMES), max_size=40)
PLACED = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0, 2.0]) | st.floats(-1e6, 1e6),
        st.sampled_from([0.0, 1.0, 2.0]) | st.floats(-1e6, 1e6),
    ),
    max_size=40,
)


def sum_over_pairs(events, tie):
    """Return the protocol's sum over all pairs.

    `tie` is the score of equal predictions, None to leave them out.
    """
    events = [event for event in events if None not in event]
    score = compared = 0
    for i, (ref_i, pred_i) in enumerate(events):
        for ref_j, pred_j in events[:i]:
            if ref_i == ref_j or (pred_i == pred_j and tie is None):
                continue
            compared += 1
            score += tie if pred_i == pred_j else (ref_i < ref_j) == (pred_i < pred_j)
    return score / compared if compared else None


def columns(events):
    return [r for r, _ in events], [p for _, p in events]


@given(EVENTS)
def test_equal_to_the_definitions(events):
    assert concordance(*columns(events)) == sum_over_pairs(events, None)
    assert concordance_ref(*columns(events)) == sum_over_pairs(events, 0.5)


@settings(deadline=None)  # compiled on first use
@given(PLACED)
def test_with_ties_counting_half_it_is_the_index_of_lifelines(events):
    reference, predicted = columns(events)
    if len(set(reference)) < 2:
        assert concordance_ref(reference, predicted) is None  # lifelines raises ZeroDivisionError
    else:
        assert concordance_ref(reference, predicted) == pytest.approx(
            concordance_index(reference, predicted), abs=1e-12
        )


def test_by_hand():
    # Pairs by (reference, predicted): (0,5) (0,7): same reference time, no pair. (0,5) (3,5): equal
    # predictions. (0,7) (3,5): wrong. With (9,8): right against all three. So 3 right, 1 wrong, 1
    # tied.
    reference, predicted = [0, 0, 3, 9], [5, 7, 5, 8]
    assert count_pairs(reference, predicted) == PairCounts(concordant=3, discordant=1, tied=1)
    assert concordance(reference, predicted) == 3 / 4
    assert concordance_ref(reference, predicted) == 3.5 / 5


def test_right_and_wrong_order():
    assert concordance([-5, 0, 2], [1, 2, 3]) == concordance_ref([-5, 0, 2], [1, 2, 3]) == 1
    assert concordance([-5, 0, 2], [3, 2, 1]) == concordance_ref([-5, 0, 2], [3, 2, 1]) == 0


def test_all_predictions_equal():
    # No pair is left for the one; each of the three counts a half for the other.
    assert concordance([1, 2, 3], [0, 0, 0]) is None
    assert concordance_ref([1, 2, 3], [0, 0, 0]) == 0.5


@pytest.mark.parametrize(
    ("reference", "predicted"),
    [
        ([], []),
        ([1], [2]),
        ([4, 4], [1, 2]),
        ([1, None], [1, 2]),
        ([1, 2], [None, None]),
        ([None], [None]),
    ],
)
def test_no_pair_to_compare(reference, predicted):
    assert concordance(reference, predicted) is None
    assert concordance_ref(reference, predicted) is None


def test_events_without_a_time_on_either_side_are_left_out():
    # Left are (1, 1), (2, 3), (3, 2): two pairs right, one wrong.
    assert concordance([1, None, 2, 9, 3], [1, 0, 3, None, 2]) == 2 / 3


@pytest.mark.parametrize("function", [concordance, concordance_ref])
@pytest.mark.parametrize(
    ("reference", "predicted", "words"),
    [
        ([1, 2], [1], "2 reference times and 1"),
        ([1, NAN], [1, 2], "NaN"),
        ([1, 2], [INF, 2], "infinity"),
    ],
)
def test_refused(function, reference, predicted, words):
    with pytest.raises(ValueError, match=words):
        function(reference, predicted)


@settings(deadline=None)
@given(st.integers(2, 300), st.integers(1, 300), st.randoms(use_true_random=False))
def test_long_lists_with_and_without_ties(size, different, random):
    events = [
        (float(random.randrange(different)), float(random.randrange(different)))
        for _ in range(size)
    ]
    assert concordance(*columns(events)) == sum_over_pairs(events, None)
