"""Statuses that need more than three values, deciding facts, shares, limits, and metamorphoses."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cohorts.engine import pairs, settling, solving
from cohorts.engine.evaluating import judge_window
from cohorts.engine.language import Picked, Window
from cohorts.engine.members import evaluate
from cohorts.engine.reading import read_window
from cohorts.engine.shares import share
from cohorts.engine.values import Fact, WindowError, make_facts, make_stays
from tests.unit.cohorts.random_windows import frame, make_stay, make_window

CONCEPTS = ["a", "b", "c"]


def read(anchor: str, *criteria: str) -> Window:
    text = f"name: x\nanchor: {anchor}\nwhere: [{', '.join(criteria)}]"
    return read_window(text, concepts=CONCEPTS)


def stay(number: int = 1, **facts: object) -> dict[str, object]:
    return {"stay": number, "discharge": 48.0} | facts


SOON = read("a", "{event: b, within: 0 h to 6 h after anchor}")
EITHER = read("a", "{any: [{event: b, before: anchor}, {event: b, during: anchor and discharge}]}")


def test_a_time_that_matters_twice_is_settled():
    facts = make_facts([Fact(1, "a", 2), Fact(1, "b", None, 1, 3)])
    stays = make_stays([stay()])
    assert judge_window(EITHER, facts, stays).status.tolist() == [1]
    assert evaluate(EITHER, facts, stays)["status"].to_list() == ["yes"]


def test_no_stay_and_no_fact():
    nothing = make_facts([])
    assert evaluate(SOON, nothing, make_stays([stay()]))["status"].to_list() == ["no"]
    none = evaluate(SOON, nothing, make_stays([stay()]).clear())
    assert none.columns == ["stay", "status", "deciding", "exact"]
    assert none.is_empty()
    assert share(SOON, nothing, make_stays([stay()]), []) == {}


def test_null_bounds_are_open_and_nan_is_no_value():
    window = read("a", '{event: b, value: "> 5", after: anchor}')
    facts = make_facts([Fact(1, "a", 2), Fact(1, "b", 5, value=float("nan"))])
    assert evaluate(window, facts, make_stays([stay()]))["status"].to_list() == ["uncertain"]
    late = read("a", "{event: b, within: 0 h to any after anchor}")
    facts = make_facts([Fact(1, "a", 2), Fact(1, "b", None, 3, 5)])
    facts = facts.with_columns(upper=pl.lit(None, pl.Float64).fill_null(pl.col("point")))
    assert facts["upper"].null_count() == 1
    assert evaluate(late, facts, make_stays([stay()]))["status"].to_list() == ["yes"]


def test_hours_that_floats_cannot_say_are_compared_exactly():
    # 0.1 + 0.2 is more than 0.3 in floats.
    facts = make_facts([Fact(1, "a", 0.1 + 0.2), Fact(1, "b", 6.3)])
    assert evaluate(SOON, facts, make_stays([stay()]))["status"].to_list() == ["yes"]
    just = read("a", "{event: b, within: 0 h to 0.1 h after anchor}")
    facts = make_facts([Fact(1, "a", 0.2), Fact(1, "b", 0.1 + 0.2)])
    assert evaluate(just, facts, make_stays([stay()]))["status"].to_list() == ["yes"]


@pytest.mark.parametrize(
    ("window", "facts", "status", "deciding"),
    [
        # The earliest that suffices.
        (SOON, [("a", 2), ("b", 5), ("b", 3)], "yes", [0, 2]),
        # The nearest.
        (SOON, [("a", 2), ("b", 20), ("b", 9)], "no", [0, 2]),
        (SOON, [("a", 2), ("b", -9), ("b", 9)], "no", [0, 2]),
        # What is open, not what is surely out.
        (SOON, [("a", 2), ("b", (7, 9)), ("b", 30)], "uncertain", [0, 1]),
        (SOON, [("b", 2)], "no", []),
        (read("a", "{no: b, after: anchor}"), [("a", 2), ("b", 5), ("b", 1)], "no", [0, 1]),
        (read("a", "{no: b, after: anchor}"), [("a", 2), ("b", 1)], "yes", [0]),
        (read("a", "{not: {event: b}}"), [("a", 2), ("b", 5)], "no", [0, 1]),
        (read("a", "{any: [{event: b}, {event: c}]}"), [("a", 2), ("c", 5)], "yes", [0, 1]),
        (read("a", "{event: b}", "{event: c}"), [("a", 2), ("c", 5)], "no", [0]),
        (
            read("a", "{event: b, as: x, where: [{no: c, between: anchor and x}]}"),
            [("a", 2), ("b", 9), ("c", (1, 5))],
            "uncertain",
            [0, 1, 2],
        ),
    ],
)
def test_deciding_facts(window, facts, status, deciding):
    made = [
        Fact(1, concept, None, *hours) if isinstance(hours, tuple) else Fact(1, concept, hours)
        for concept, hours in facts
    ]
    found = evaluate(window, make_facts(made), make_stays([stay()])).row(0, named=True)
    assert (found["status"], sorted(found["deciding"])) == (status, deciding)


def test_at_most_twenty_facts_are_named():
    made = [Fact(1, "a", 1), *(Fact(1, "b", 2) for _ in range(50))]
    window = read("a", "{event: b, at least: 40}")
    found = evaluate(window, make_facts(made), make_stays([stay()])).row(0, named=True)
    assert (found["status"], len(found["deciding"])) == ("yes", 20)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # b is 4 to 8 h after a, evenly: half of it is within 6 h.
        ([Fact(1, "a", 2), Fact(1, "b", None, 6, 10)], 0.5),
        # Both even over 12 h: b − a is within [0, 6] for 1/2 − 1/8 of the square.
        ([Fact(1, "a", None, 0, 12), Fact(1, "b", None, 0, 12)], 0.375),
        # Open: b from its lower bound to discharge + 24 h = 72, so 6 of 70 hours.
        ([Fact(1, "a", 2), Fact(1, "b", None, 2, None)], 6 / 70),
        # Open: b from admission − 24 h to 10, so 6 of 34 hours.
        ([Fact(1, "a", 2), Fact(1, "b", None, None, 10)], 6 / 34),
        # Open, and its own time is further out: b from 2 to 102.
        ([Fact(1, "a", 2), Fact(1, "b", 102, 2, None)], 6 / 100),
        ([Fact(1, "a", 2), Fact(1, "b", 5)], 1.0),
        ([Fact(1, "a", 2)], 0.0),
    ],
)
def test_share_of_the_allowed_region(facts, expected):
    found = share(SOON, make_facts(facts), make_stays([stay()]), [1], 4096)
    assert found[1] == pytest.approx(expected, abs=0.01)
    assert found == share(SOON, make_facts(facts), make_stays([stay()]), [1], 4096)


def test_without_a_discharge_an_open_side_ends_a_day_after_the_last_known_hour():
    facts = make_facts([Fact(1, "a", 2), Fact(1, "b", None, 2, None), Fact(1, "b", 38)])
    found = share(SOON, facts, make_stays([{"stay": 1}]), [1], 4096)
    assert found[1] == pytest.approx(6 / 60, abs=0.01)


def test_no_share_if_an_unknown_value_matters():
    window = read("a", '{event: b, value: "> 5"}')
    facts = make_facts(
        [Fact(n, c, 2) for n in (1, 2) for c in ("a", "b")] + [Fact(2, "b", 3, value=6)]
    )
    assert share(window, facts, make_stays([stay(1), stay(2)]), [1, 2]) == {1: None, 2: 1.0}


def test_parts_are_drawn_alike(monkeypatch):
    facts = [Fact(n, concept, None, 0, 6 + n) for n in range(20) for concept in ("a", "b")]
    stays = make_stays(stay(n) for n in range(20))
    whole = share(SOON, make_facts(facts), stays, range(20), 64)
    monkeypatch.setattr("cohorts.engine.worlds.MAX_ROWS", 500)
    assert share(SOON, make_facts(facts), stays, range(20), 64) == whole
    assert all(0 < (found or 0) < 1 for found in whole.values())


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
    assert solving.MAX_STEPS == 50_000


def test_worlds_with_too_many_pairs_leave_the_stay_to_the_solver(monkeypatch):
    monkeypatch.setattr(pairs, "SLICE", 1)
    monkeypatch.setattr(settling, "MAX_DRAWN_PAIRS", 1)
    facts = make_facts([Fact(1, "a", 2), Fact(1, "b", None, 1, 3)])
    assert evaluate(EITHER, facts, make_stays([stay()]))["status"].to_list() == ["yes"]
