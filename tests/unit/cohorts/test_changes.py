"""What a change of the facts may change, and what it may not."""

from __future__ import annotations

import random
import re

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cohorts.engine.language import Picked, Window
from cohorts.engine.members import evaluate
from cohorts.engine.values import Fact, make_facts, make_stays
from tests.unit.cohorts.random_windows import frame, make_stay, make_window
from tests.unit.cohorts.simple_windows import read, stay


def make_moveable(rng: random.Random) -> Window:
    """A window that refers to neither admission nor discharge."""
    while True:
        window = make_window(rng)
        if isinstance(window.anchor, Picked) and not re.search("admission|discharge", repr(window)):
            return window


@pytest.mark.parametrize("seed", range(20))
def test_later_by_a_constant_changes_nothing_without_moments(seed):
    rng = random.Random(f"shift {seed}")
    window, made = make_moveable(rng), [make_stay(rng) for _ in range(10)]
    before, after = evaluate(window, *frame(made)), evaluate(window, *frame(made, shift=7.5))
    assert_frame_equal(before, after)


def test_later_by_a_constant_changes_what_is_counted_from_admission():
    facts = make_facts([Fact(1, "a", 3)])
    window = read("admission", "{event: a, within: 0 h to 6 h after anchor}")
    later = facts.with_columns(pl.col("lower", "upper") + 7.5)
    found = [evaluate(window, moved, make_stays([stay()]))["status"][0] for moved in (facts, later)]
    assert found == ["yes", "no"]


@pytest.mark.parametrize("seed", range(20))
def test_wider_bounds_never_turn_yes_into_no(seed):
    rng = random.Random(f"wide {seed}")
    window = make_window(rng)
    facts, stays = frame([make_stay(rng) for _ in range(20)])
    wider = facts.with_columns(
        lower=pl.col("lower") - pl.col("fact") % 3, upper=pl.col("upper") + pl.col("fact") % 2
    )
    narrow, wide = evaluate(window, facts, stays), evaluate(window, wider, stays)
    for before, after in zip(narrow["status"], wide["status"], strict=True):
        assert after in (before, "uncertain")
