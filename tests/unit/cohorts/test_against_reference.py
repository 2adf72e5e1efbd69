"""The engine agrees with trying every time, on random windows and stays."""

from __future__ import annotations

import random
from collections import Counter

import polars as pl
import pytest

from cohorts.engine.columns import round_times
from cohorts.engine.evaluating import judge_window
from cohorts.engine.language import Window
from cohorts.engine.members import evaluate
from cohorts.engine.reading import read_window
from cohorts.engine.settling import solve_stay
from cohorts.engine.solving import Budget
from cohorts.engine.writing import write_window
from tests.marks import deep
from tests.unit.cohorts.random_windows import CONCEPTS, frame, make_stay, make_window
from tests.unit.cohorts.reference import decide

STAYS = 10
WORDS = ["no", "uncertain", "yes"]


@pytest.mark.parametrize("seed", [*range(5), *deep(*range(5, 100))])
def test_every_status_is_that_of_the_reference(seed):
    for number in range(10):
        rng = random.Random(f"{seed}-{number}")
        window, made = make_window(rng), [make_stay(rng) for _ in range(STAYS)]
        facts, stays = frame(made)
        expected = [decide(window, of_stay, stay) for stay, of_stay in made]
        found = evaluate(window, facts, stays)
        assert found["exact"].all()
        assert found["status"].to_list() == expected, (seed, number, write_window(window))
        quick = [WORDS[status] for status in judge_window(window, facts, stays).status]
        assert all(q in ("uncertain", e) for q, e in zip(quick, expected, strict=True))
        assert solve_all(window, facts, stays) == expected, (seed, number)
        assert read_window(write_window(window), concepts=CONCEPTS) == window


def solve_all(window: Window, facts: pl.DataFrame, stays: pl.DataFrame) -> list[str]:
    """Solve each stay exactly, without looking at worlds first."""
    rounded = facts.with_columns(round_times("lower", "upper")).to_dicts()
    found = []
    for stay in stays.to_dicts():
        of_stay = {
            c: [f for f in rounded if (f["stay"], f["concept"]) == (stay["stay"], c)]
            for c in CONCEPTS
        }
        status = solve_stay(window, stay, of_stay, Budget())
        assert status is not None
        found.append(WORDS[status])
    return found


def test_random_stays_need_every_step():
    counts = Counter()
    for number in range(20):
        rng = random.Random(f"0-{number}")
        window = make_window(rng)
        facts, stays = frame([make_stay(rng) for _ in range(STAYS)])
        found = evaluate(window, facts, stays)["status"]
        quick = judge_window(window, facts, stays).status
        counts.update(found)
        counts["settled"] += sum(
            q == 1 and s != "uncertain" for q, s in zip(quick, found, strict=True)
        )
    assert min(counts["yes"], counts["no"], counts["uncertain"]) > 10
    assert counts["settled"] > 0
