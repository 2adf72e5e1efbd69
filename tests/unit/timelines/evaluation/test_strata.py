"""Error strata, borders included, by hand."""

import pytest

from timelines.evaluation.strata import (
    BANDS,
    HORIZONS,
    band_indices,
    cumulative_shares,
    within_tolerance,
)


def test_cumulative_shares_count_the_border_in():
    # Hours: 1 is within 1 hour; 24 and 24.5 are on either side of a day; 720 is a month, 9000 more
    # than a year.
    shares = cumulative_shares([0, 1, 24, 24.5, 720, 9000, 8760, 100])
    assert shares == [
        ("1 hour", 2 / 8),
        ("1 day", 3 / 8),
        ("1 week", 5 / 8),
        ("1 month", 6 / 8),
        ("1 year", 7 / 8),
    ]


def test_no_errors_no_shares():
    assert cumulative_shares([]) == [(words, None) for words, _ in HORIZONS]


@pytest.mark.parametrize("error", [-1.0, float("nan"), float("inf")])
def test_errors_are_finite_and_not_negative(error):
    with pytest.raises(ValueError, match="from 0 up"):
        cumulative_shares([error])


def test_bands_look_in_both_directions_and_keep_the_border():
    assert band_indices([0, -1, 1.01, 24, -24.1, 168, 720, -8760, 8761]).tolist() == [
        0,
        0,
        1,
        1,
        2,
        2,
        3,
        4,
        5,
    ]
    assert len(BANDS) == len(HORIZONS) + 1


@pytest.mark.parametrize(
    ("first", "second", "near"),
    [
        (0, 2.99, True),
        (0, 3, False),  # strict
        (-1, 2, False),
        (100, 109, True),  # 9 < 0.1 · 109
        (100, 112, False),  # 12 > 11.2
        (-100, -91, True),  # 9 < 10
        (90, 100, False),  # 10 is not below 10
        (30, 32.9, True),
    ],
)
def test_tolerance(first, second, near):
    assert bool(within_tolerance(first, second)) is near
    assert bool(within_tolerance(second, first)) is near
