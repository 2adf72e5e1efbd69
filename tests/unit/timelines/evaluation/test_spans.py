"""Matching by overlap of spans, by hand and against looking at all pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.evaluation.spans import match_spans, span_iou

SPAN = st.tuples(st.integers(0, 40), st.integers(0, 15)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
SPANS = st.lists(st.none() | SPAN | st.sampled_from([(0, 60), (3, 8), (3, 8)]), max_size=14)


def all_pairs(references, predictions, iou):
    """Return the pairs of overlapping spans, largest first.

    Ties go to the lower reference, then the lower predicted index.
    """
    found = []
    for r, a in enumerate(references):
        for p, b in enumerate(predictions):
            if a is None or b is None:
                continue
            shared = len(set(range(*a)) & set(range(*b)))
            if shared and shared / len(set(range(*a)) | set(range(*b))) >= iou:
                found.append((-shared / len(set(range(*a)) | set(range(*b))), r, p))
    pairs = []
    for overlap, r, p in sorted(found):
        if all(r != other_r and p != other_p for other_r, other_p, _ in pairs):
            pairs.append((r, p, -overlap))
    return pairs


@given(SPANS, SPANS, st.sampled_from([0.05, 1 / 3, 0.4, 0.5, 1.0]))
def test_equal_to_looking_at_all_pairs(references, predictions, iou):
    assert match_spans(references, predictions, iou) == all_pairs(references, predictions, iou)


def test_iou_by_hand():
    # [0, 10) and [5, 20) share 5 of 20; half-open spans that touch share nothing.
    assert span_iou((0, 10), (5, 20)) == 0.25
    assert span_iou((0, 10), (10, 20)) == 0
    assert span_iou((2, 9), (2, 9)) == 1
    assert span_iou((4, 4), (4, 4)) == span_iou((0, 9), (4, 4)) == 0


def test_two_fifths_is_enough():
    # 4 of 10 is exactly 0.4; 39 of 100 is not.
    assert match_spans([(0, 10)], [(0, 4)]) == [(0, 0, 0.4)]
    assert match_spans([(0, 100)], [(0, 39)]) == []


def test_the_largest_overlap_goes_first():
    # The second prediction covers reference 0 wholly (1.0); the first, with 8 of 10, is left for
    # nobody else.
    assert match_spans([(0, 10)], [(0, 8), (0, 10)]) == [(0, 1, 1.0)]
    # Prediction 0 is reference 1 itself; reference 0, 6 of 10 of it, is left with prediction 1 (5
    # of 10).
    assert match_spans([(0, 10), (0, 6)], [(0, 6), (5, 10)]) == [(1, 0, 1.0), (0, 1, 0.5)]


def test_ties_and_duplicates():
    assert match_spans([(0, 5), (0, 5)], [(0, 5), (0, 5), (0, 5)]) == [(0, 0, 1.0), (1, 1, 1.0)]
    # One prediction, 5 of 10 of each of two references.
    assert match_spans([(5, 15), (0, 10)], [(5, 10)]) == [(0, 0, 0.5)]


def test_occurrences_without_a_span_match_nothing():
    assert match_spans([None, (3, 9)], [(3, 9), None]) == [(1, 0, 1.0)]
    assert match_spans([None], [None]) == []
    assert match_spans([], [(0, 4)]) == match_spans([(0, 4)], []) == []


@pytest.mark.parametrize("iou", [0, -0.4, 1.01, float("nan")])
def test_iou_out_of_range(iou):
    with pytest.raises(ValueError, match="above 0"):
        match_spans([], [], iou)


def test_a_span_that_ends_before_it_starts():
    with pytest.raises(ValueError, match="span 1 ends before it starts"):
        match_spans([(0, 4), (9, 4)], [])
