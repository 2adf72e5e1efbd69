"""Ages of stays as numbers of years."""

from __future__ import annotations

import polars as pl
import pytest

from cohorts.engine.columns import NO, UNCERTAIN, YES
from cohorts.engine.language import Stay as StayCriterion
from cohorts.engine.language import walk
from cohorts.engine.reading import read_window
from cohorts.engine.stays import judge_stay
from cohorts.engine.values import STAYS
from cohorts.windows.stays import _describe, read_age
from ehr.presentation.headline import Stay


@pytest.mark.parametrize(
    ("criterion", "answer"),
    [
        ("at least: 18", YES),
        ("at least: 90", YES),
        ("at least: 91", UNCERTAIN),
        ("at most: 89", NO),
        ("at most: 95", UNCERTAIN),
    ],
)
def test_an_age_above_89_is_known_by_its_lower_bound(criterion, answer):
    stays = pl.DataFrame(
        [{"stay": 1, **_describe(Stay(age="> 89", sex="F"))}, {"stay": 2, "age": 40.0}],
        schema=STAYS,
    )
    text = f"name: w\nanchor: admission\nwhere:\n  - stay: age\n    {criterion}\n"
    (part,) = [
        p for p in walk(read_window(text, concepts=[]).where) if isinstance(p, StayCriterion)
    ]
    assert judge_stay(part, stays, stays)[0] == answer


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
