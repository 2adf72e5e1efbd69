"""Windows that compare too much are sliced, refused or given up."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cohorts.engine import pairs, settling
from cohorts.engine.members import evaluate
from cohorts.engine.values import Fact, WindowError, make_facts, make_stays
from tests.unit.cohorts.random_windows import frame, make_stay, make_window
from tests.unit.cohorts.simple_windows import EITHER, SOON, stay


def test_slices_of_pairs_change_nothing(monkeypatch):
    rng = random.Random("slices")
    windows = [make_window(rng) for _ in range(6)]
    facts, stays = frame([make_stay(rng) for _ in range(15)])
    whole = [evaluate(window, facts, stays) for window in windows]
    monkeypatch.setattr(pairs, "SLICE", 7)
    for window, expected in zip(windows, whole, strict=True):
        assert_frame_equal(
            evaluate(window, facts, stays).with_columns(pl.col("deciding").list.sort()),
            expected.with_columns(pl.col("deciding").list.sort()),
        )


def test_too_many_pairs_are_refused_with_advice(monkeypatch):
    monkeypatch.setattr(pairs, "SLICE", 10)
    monkeypatch.setattr(pairs.Pairs.__init__, "__defaults__", (50,))
    facts = make_facts([Fact(1, c, n) for n in range(10) for c in ("a", "b")])
    with pytest.raises(WindowError, match=r"pairs of occurrences\. Ask for the first or last"):
        evaluate(SOON, facts, make_stays([stay()]))


def test_a_stay_that_is_given_up_is_counted(monkeypatch):
    monkeypatch.setattr(settling, "MAX_STEPS", 5)
    facts = make_facts([Fact(1, "a", 2), Fact(1, "b", None, 1, 3), Fact(2, "a", 2)])
    found = evaluate(EITHER, facts, make_stays([stay(1), stay(2)]))
    assert found["status"].to_list() == ["uncertain", "no"]
    assert found["exact"].to_list() == [False, True]


def test_worlds_with_too_many_pairs_leave_the_stay_to_the_solver(monkeypatch):
    monkeypatch.setattr(pairs, "SLICE", 1)
    monkeypatch.setattr(settling, "MAX_DRAWN_PAIRS", 1)
    facts = make_facts([Fact(1, "a", 2), Fact(1, "b", None, 1, 3)])
    assert evaluate(EITHER, facts, make_stays([stay()]))["status"].to_list() == ["yes"]
