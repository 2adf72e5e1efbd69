"""Shares of the allowed region, by values derived by hand."""

from __future__ import annotations

import pytest

from cohorts.engine.shares import share
from cohorts.engine.values import Fact, make_facts, make_stays
from tests.unit.cohorts.simple_windows import SOON, read, stay


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
