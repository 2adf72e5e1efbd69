"""What a change of the facts may change, and what it may not."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cohorts.engine.language import Picked
from cohorts.engine.members import evaluate
from tests.unit.cohorts.random_windows import frame, make_stay, make_window


@pytest.mark.parametrize("seed", range(30))
def test_later_by_a_constant_changes_nothing_without_moments(seed):
    rng = random.Random(f"shift {seed}")
    window, made = make_window(rng), [make_stay(rng) for _ in range(10)]
    if not isinstance(window.anchor, Picked) or "admission" in repr(window):
        return
    moved = [
        ({**of, "discharge": None if of["discharge"] is None else of["discharge"] + 7.5}, facts)
        for of, facts in made
    ]
    if any(of["discharge"] is None for of, _ in made) and "discharge" in repr(window):
        return
    before, after = evaluate(window, *frame(made)), evaluate(window, *frame(moved, shift=7.5))
    assert_frame_equal(before, after)


@pytest.mark.parametrize("seed", range(30))
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
