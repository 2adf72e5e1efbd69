"""Put the hours of many stays on one scale: hour 0 is an event of each.

No Django here. Frames of facts are those of `cohorts.facts.loading`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

#: Concept of frames whose hour 0 is admission.
ADMISSION = ""
#: Hours without the thing after which its next occurrence is a recurrence.
RECURS_AFTER = 24.0


@dataclass(frozen=True, slots=True)
class Aligned:
    """Stays that have an hour 0, and their facts from there.

    `stays`: `stay`, `zero` (hours from admission), `zero_lower`, `zero_upper`, `end` (hours from
    hour 0 to discharge; null if not recorded). `facts`: `stay`, `concept`, `fact`, `at`, `lower`,
    `upper` (hours from hour 0; a bound is that of the fact and the hour 0 together).
    `without`: stays without an hour 0.
    """

    stays: pl.DataFrame
    facts: pl.DataFrame
    without: tuple[int, ...] = ()


def align(facts: pl.DataFrame, stays: pl.DataFrame, concept: str = ADMISSION) -> Aligned:
    """Return the stays (`stay`, `discharge` in hours) aligned at the first fact of a concept.

    The first fact is that with the earliest time; facts without a time are left out.
    """
    placed = facts.filter(pl.col("point").is_not_null())
    if concept == ADMISSION:
        zeros = stays.select(
            "stay", zero=pl.lit(0.0), zero_lower=pl.lit(0.0), zero_upper=pl.lit(0.0)
        )
    else:
        zeros = (
            placed.filter(pl.col("concept") == concept)
            .sort("point", "ordinal")
            .group_by("stay", maintain_order=True)
            .first()
            .select("stay", zero="point", zero_lower="lower", zero_upper="upper")
        )
    joined = stays.join(zeros, on="stay").with_columns(end=pl.col("discharge") - pl.col("zero"))
    moved = placed.join(zeros, on="stay").with_columns(
        at=pl.col("point") - pl.col("zero"),
        lower=pl.col("lower") - pl.col("zero_upper"),
        upper=pl.col("upper") - pl.col("zero_lower"),
    )
    without = stays.join(zeros, on="stay", how="anti")["stay"].to_list()
    return Aligned(
        joined.select("stay", "zero", "zero_lower", "zero_upper", "end").sort("stay"),
        moved.select("stay", "concept", "fact", "at", "lower", "upper").sort("stay", "at", "fact"),
        tuple(without),
    )


def count_density(aligned: Aligned, start: float, stop: float, step: float) -> pl.DataFrame:
    """Return how many facts of each concept are in each bin: `concept`, `bin`, `facts`, `stays`.

    A bin is its left edge, which it contains. Bins without a fact are left out.
    """
    inside = aligned.facts.filter(pl.col("at") >= start, pl.col("at") < stop)
    return (
        inside.with_columns(bin=((pl.col("at") - start) / step).floor() * step + start)
        .group_by("concept", "bin")
        .agg(facts=pl.len(), stays=pl.col("stay").n_unique())
        .sort("concept", "bin")
    )


def find_courses(facts: pl.DataFrame, concept: str) -> pl.DataFrame:
    """Return onset, recurrences and resolution of a condition in each stay that has it.

    `onset`: its first time; `recurrences`: later times at least a day after the one before;
    `last`: its last time.
    """
    times = facts.filter(pl.col("concept") == concept, pl.col("point").is_not_null())
    gaps = times.sort("stay", "point").with_columns(gap=pl.col("point").diff().over("stay"))
    return (
        gaps.group_by("stay")
        .agg(
            onset=pl.col("point").min(),
            recurrences=(pl.col("gap") >= RECURS_AFTER).sum(),
            last=pl.col("point").max(),
        )
        .sort("stay")
    )
