"""Statuses that need solving, exact hours, and deciding facts."""

from __future__ import annotations

import polars as pl
import pytest

from cohorts.engine.evaluating import judge_window
from cohorts.engine.members import evaluate
from cohorts.engine.shares import share
from cohorts.engine.values import Fact, make_facts, make_stays
from tests.unit.cohorts.simple_windows import EITHER, SOON, read, stay


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
