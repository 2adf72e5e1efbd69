"""Settle uncertain stays exactly: by drawn worlds, then by solving."""

from __future__ import annotations

from typing import Any

import polars as pl

from cohorts.engine.columns import NO, UNCERTAIN, YES, round_times
from cohorts.engine.grounding import Grounding
from cohorts.engine.language import Window
from cohorts.engine.pairs import Pairs, TooManyPairs
from cohorts.engine.solving import MAX_STEPS, MAX_TOTAL, Budget, GaveUp, can_be
from cohorts.engine.worlds import judge_worlds

#: How many worlds are drawn, in turn, before a stay is solved.
ROUNDS = (4, 16, 64)
MAX_DRAWN_PAIRS = 50_000_000


def settle(window: Window, facts: pl.DataFrame, stays: pl.DataFrame) -> list[int | None]:
    """Return the exact status of each stay; None if it was given up.

    Two drawn worlds of different answers settle most. The others are solved one by one: if every
    world says yes, is there one that says no?
    """
    left, drawn = stays.select("stay", no=0, yes=0), 0
    for worlds in ROUNDS:
        try:
            left = _draw_more(window, facts, stays, left, range(drawn, drawn + worlds))
        except TooManyPairs:
            break
        drawn += worlds
    solved = _solve(window, facts, stays, left)
    return [solved.get(stay, UNCERTAIN) for stay in stays["stay"]]


def _draw_more(
    window: Window, facts: pl.DataFrame, stays: pl.DataFrame, left: pl.DataFrame, worlds: range
) -> pl.DataFrame:
    """Return how many worlds say no and yes, of stays whose all agree."""
    if left.is_empty():
        return left
    some, inside = (frame.join(left, on="stay", how="semi") for frame in (stays, facts))
    pairs = Pairs(MAX_DRAWN_PAIRS)
    found = judge_worlds(
        window, inside, some, len(worlds), first=worlds.start, corners=True, pairs=pairs
    )
    no, yes = pl.col("no") + pl.col("no_more"), pl.col("yes") + pl.col("yes_more")
    sums = left.join(found, on="stay", suffix="_more").select("stay", no=no, yes=yes)
    return sums.filter((pl.col("no") == 0) | (pl.col("yes") == 0))


def _solve(
    window: Window, facts: pl.DataFrame, stays: pl.DataFrame, left: pl.DataFrame
) -> dict[int, int | None]:
    inside = facts.join(left, on="stay", how="semi")
    by_stay: dict[int, dict[str, list[dict[str, Any]]]] = {}
    for row in inside.with_columns(round_times("lower", "upper")).iter_rows(named=True):
        by_stay.setdefault(row["stay"], {}).setdefault(row["concept"], []).append(row)
    found, steps_left = {}, MAX_TOTAL
    for stay in left.join(stays, on="stay", how="left").iter_rows(named=True):
        budget = Budget(min(steps_left, MAX_STEPS))
        found[stay["stay"]] = solve_stay(window, stay, by_stay.get(stay["stay"], {}), budget)
        steps_left = max(0, steps_left - budget.spent)
    return found


def solve_stay(
    window: Window,
    stay: dict[str, Any],
    occurrences: dict[str, list[dict[str, Any]]],
    budget: Budget,
) -> int | None:
    """Return the exact status of one stay; None if its formula is too long.

    `no` and `yes` of the stay count worlds that are already known.
    """
    grounding = Grounding(stay, occurrences, budget)
    try:
        formula, known = grounding.start(grounding.ground(window))
        yes = stay.get("yes", 0) > 0 or can_be(True, formula, known, budget)
        no = stay.get("no", 0) > 0 or can_be(False, formula, known, budget)
    except GaveUp:
        return None
    return UNCERTAIN if yes and no else YES if yes else NO
