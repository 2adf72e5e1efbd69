"""Ages of stays as numbers of years."""

from __future__ import annotations

import pytest

from cohorts.windows.stays import read_age


@pytest.mark.parametrize(
    ("words", "years"),
    [
        ("74", 74.0),
        ("> 89", 90.0),
        ("6 mo", 0.5),
        ("newborn", 0.0),
        ("12 h", 0.0),
        ("", None),
    ],
)
def test_ages_are_read_as_years(words, years):
    assert read_age(words) == years
