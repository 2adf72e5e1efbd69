"""What a window asks of the stay: its moments, and its facts such as age."""

from __future__ import annotations

import numpy as np
import polars as pl

from cohorts.engine.columns import UNCERTAIN, YES, Status, contains, round_times
from cohorts.engine.language import Stay


def name_moments(stays: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each stay, with its admission and discharge.

    An unknown discharge is at any hour after admission.
    """
    discharge = stays.select("stay", pl.col("discharge")).with_columns(round_times("discharge"))
    none = pl.lit(None, dtype=pl.Int64)
    return discharge.select(
        pl.col("stay"),
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"),
        none.alias("admission.fact"),
        pl.lit(0.0).alias("admission.lower"),
        pl.lit(0.0).alias("admission.upper"),
        none.alias("discharge.fact"),
        pl.col("discharge").fill_null(0.0).alias("discharge.lower"),
        pl.col("discharge").fill_null(np.inf).alias("discharge.upper"),
    )


def judge_stay(stay: Stay, rows: pl.DataFrame, stays: pl.DataFrame) -> Status:
    """Answer a criterion about the stay for each row, by what is known."""
    known = rows.select("stay").join(
        stays.select("stay", pl.col(stay.about).alias("about"), _until(stay, stays)),
        on="stay",
        how="left",
        maintain_order="left",
    )
    about = pl.col("about")
    if isinstance(stay.value, str):
        same = (about == stay.value) != stay.negated
        answer = (same.cast(pl.Int8) * YES).fill_null(UNCERTAIN)
    else:
        answer = contains(stay.value, about.fill_null(-np.inf), pl.col("until").fill_null(np.inf))
    return known.select(answer.cast(pl.Int8)).to_series().to_numpy()


def _until(stay: Stay, stays: pl.DataFrame) -> pl.Expr:
    """Return the highest value that is possible: an age may be known as "> 89" only."""
    exact = pl.col(stay.about)
    bounded = stay.about == "age" and "age_until" in stays.columns
    return (pl.coalesce("age_until", exact) if bounded else exact).alias("until")
