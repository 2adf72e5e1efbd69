"""Distances of mentions: angles by hand, edits by the textbook recursion."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timelines.evaluation.distances import cosine_distance, levenshtein_distance
from timelines.evaluation.matching import match_events

TEXTS = st.lists(st.text("abc é𝛂", max_size=9), max_size=5)


def edits(first, second):
    @cache
    def between(i, j):
        if not i or not j:
            return i + j
        return min(
            between(i - 1, j) + 1,
            between(i, j - 1) + 1,
            between(i - 1, j - 1) + (first[i - 1] != second[j - 1]),
        )

    return between(len(first), len(second))


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_levenshtein_equals_the_recursion(refs, preds):
    found = levenshtein_distance(refs, preds)
    assert found.shape == (len(refs), len(preds))
    for r, ref in enumerate(refs):
        for p, pred in enumerate(preds):
            assert found[r, p] == edits(ref, pred) / max(len(ref), len(pred), 1)


def test_levenshtein_by_hand():
    # kitten → sitting: two substitutions and an insertion, over 7. Code points, not bytes: one of
    # four in "café".
    assert levenshtein_distance(["kitten", "café"], ["sitting", "cafe"])[
        [0, 1], [0, 1]
    ].tolist() == [3 / 7, 1 / 4]
    assert levenshtein_distance(["", "Pain"], ["", "pain"]).tolist() == [[0, 1], [1, 1 / 4]]


def test_cosine_by_hand():
    # Same direction 0, at right angles 1, opposite 2, at 45 degrees 1 − 1/√2. Length does not
    # count.
    found = cosine_distance([[3, 0]], [[1, 0], [0, 5], [-2, 0], [1, 1]])
    assert found == pytest.approx(np.array([[0, 1, 2, 1 - 1 / math.sqrt(2)]]))


def test_a_vector_of_zeros_is_far_from_everything():
    assert cosine_distance([[0, 0], [1, 0]], [[0, 0], [1, 0]]).tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_duplicates_are_tied_exactly(dtype):
    vectors = np.random.default_rng(0).normal(size=(7, 384)).astype(dtype)
    many = np.tile(vectors, (9, 1))
    distance = cosine_distance(vectors, many)
    assert (distance >= 0).all()
    assert (distance == np.tile(distance[:, :7], 9)).all()
    assert match_events(distance) == [(n, n) for n in range(7)]


def test_huge_and_tiny_vectors_keep_their_direction():
    assert cosine_distance(
        [[1e300, 1e300], [1e-300, 0]], [[1e-320, 1e-320], [0, 1e300]]
    ) == pytest.approx(np.array([[0, 1 - 1 / math.sqrt(2)], [1 - 1 / math.sqrt(2), 1]]), abs=1e-3)


@pytest.mark.parametrize(
    ("refs", "preds", "shape"), [([], [[1, 2]], (0, 1)), ([[1, 2]], [], (1, 0)), ([], [], (0, 0))]
)
def test_an_empty_side(refs, preds, shape):
    assert cosine_distance(refs, preds).shape == shape


@pytest.mark.parametrize(
    ("refs", "preds", "words"),
    [
        ([[1, 2]], [[1, 2, 3]], "2 and of 3 numbers"),
        ([[float("nan")]], [[1]], "finite"),
        ([[1]], [[float("inf")]], "finite"),
        ([1, 2], [[1]], "rows"),
    ],
)
def test_refused(refs, preds, words):
    with pytest.raises(ValueError, match=words):
        cosine_distance(refs, preds)
