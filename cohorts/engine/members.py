"""Say of every stay whether it is a member: yes, no or uncertain."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cohorts.engine.columns import NO, UNCERTAIN, YES, round_times
from cohorts.engine.evaluating import MAX_DECIDING, Judged, judge_window
from cohorts.engine.grounding import Grounding
from cohorts.engine.language import Window, find_concepts
from cohorts.engine.solving import Budget, GaveUp, can_be
from cohorts.engine.worlds import judge_worlds

#: How many worlds are drawn, in turn, before a stay is settled by solving.
ROUNDS = (6, 24, 96)
_WORDS = {NO: "no", UNCERTAIN: "uncertain", YES: "yes"}
EVALUATED = {
    "stay": pl.Int64,
    "status": pl.String,
    "deciding": pl.List(pl.Int64),
    "exact": pl.Boolean,
}


def evaluate(window: Window, facts: pl.DataFrame, stays: pl.DataFrame) -> pl.DataFrame:
    """Return stay, status, deciding (fact ids) and exact, in the order of `stays`.

    "yes": a member by every time that the bounds allow, "no": by none, else "uncertain". The
    deciding facts are those that make a yes, that are open, or that come nearest, at most 20.
    `exact` is false where the question was given up: the stay is uncertain, but might be a yes or
    a no.
    """
    chosen = facts.filter(pl.col("concept").is_in(find_concepts(window)))
    judged = judge_window(window, chosen, stays)
    status = judged.status.copy()
    exact = np.ones(stays.height, bool)
    open_ = np.flatnonzero(status == UNCERTAIN)
    if len(open_):
        settled = settle(window, chosen, stays[open_.tolist()])
        status[open_] = [UNCERTAIN if found is None else found for found in settled]
        exact[open_] = [found is not None for found in settled]
    found = stays.select("stay").with_columns(
        status=pl.Series(status).replace_strict(_WORDS, return_dtype=pl.String),
        exact=pl.Series(exact),
    )
    return _add_deciding(found, judged).select(list(EVALUATED))


def _add_deciding(found: pl.DataFrame, judged: Judged) -> pl.DataFrame:
    listed = (
        judged.deciding.unique(maintain_order=True)
        .group_by("row")
        .agg(deciding=pl.col("fact").head(MAX_DECIDING))
    )
    rows = found.with_row_index("row")
    joined = rows.join(listed, on="row", how="left", maintain_order="left")
    return joined.with_columns(pl.col("deciding").fill_null([]))


def settle(window: Window, facts: pl.DataFrame, stays: pl.DataFrame) -> list[int | None]:
    """Return the exact status of each stay; None if it was given up.

    Two drawn worlds of different answers settle most. The others are solved one by one: if every
    world says yes, is there one that says no?
    """
    status: dict[int, int | None] = dict.fromkeys(stays["stay"], UNCERTAIN)
    first, counts = 0, stays.select("stay", no=0, yes=0)
    for worlds in ROUNDS:
        one_sided = counts.filter((pl.col("no") == 0) | (pl.col("yes") == 0)).select(
            "stay", "no", "yes"
        )
        if one_sided.is_empty():
            return list(status.values())
        some = stays.join(one_sided.select("stay"), on="stay", how="semi")
        inside = facts.join(one_sided.select("stay"), on="stay", how="semi")
        drawn = judge_worlds(window, inside, some, worlds, corners=True, first=first)
        first += worlds
        sums = one_sided.join(drawn, on="stay", suffix="_drawn")
        counts = sums.select(
            "stay",
            no=pl.col("no") + pl.col("no_drawn"),
            yes=pl.col("yes") + pl.col("yes_drawn"),
        )
    left = counts.filter((pl.col("no") == 0) | (pl.col("yes") == 0))
    status |= _solve(window, facts, stays, left)
    return list(status.values())


def _solve(
    window: Window, facts: pl.DataFrame, stays: pl.DataFrame, left: pl.DataFrame
) -> dict[int, int | None]:
    some = left.join(stays, on="stay", how="left")
    rounded = facts.join(left.select("stay"), on="stay", how="semi").with_columns(
        round_times("lower", "upper")
    )
    by_stay: dict[int, dict[str, list[dict[str, Any]]]] = {}
    for row in rounded.iter_rows(named=True):
        by_stay.setdefault(row["stay"], {}).setdefault(row["concept"], []).append(row)
    return {
        stay["stay"]: solve_stay(window, stay, by_stay.get(stay["stay"], {}))
        for stay in some.iter_rows(named=True)
    }


def solve_stay(
    window: Window, stay: dict[str, Any], occurrences: dict[str, list[dict[str, Any]]]
) -> int | None:
    """Return the exact status of one stay; None if its formula is too long.

    `no` and `yes` of the stay count worlds that are already known.
    """
    budget = Budget()
    grounding = Grounding(stay, occurrences, budget)
    try:
        formula = grounding.ground(window)
        known = grounding.start()
        yes = stay.get("yes", 0) > 0 or can_be(True, formula, known, budget)
        no = stay.get("no", 0) > 0 or can_be(False, formula, known, budget)
    except GaveUp:
        return None
    return UNCERTAIN if yes and no else YES if yes else NO
