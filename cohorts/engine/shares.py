"""Estimate which share of the allowed times makes a stay a member."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from cohorts.engine.language import Window, find_concepts
from cohorts.engine.values import select_facts
from cohorts.engine.worlds import judge_worlds


def share(
    window: Window,
    facts: pl.DataFrame,
    stays: pl.DataFrame,
    stay_ids: Collection[int],
    samples: int = 1024,
) -> dict[int, float | None]:
    """Return the share for each of these stays; the same every time.

    Every time is uniform within its bounds, independent of the others; `worlds.close_bounds` says
    where an open side ends. None if an unknown value, stay fact or discharge matters: that has
    no region to take a share of.
    """
    wanted = pl.Series(list(stay_ids), dtype=pl.Int64)
    some = stays.filter(pl.col("stay").is_in(wanted.implode()))
    if some.is_empty():
        return {}
    inside = select_facts(facts, find_concepts(window)).join(some, on="stay", how="semi")
    counts = judge_worlds(window, inside, some, samples)
    return {
        stay: None if uncertain else yes / samples
        for stay, uncertain, yes in counts.select("stay", "uncertain", "yes").iter_rows()
    }
