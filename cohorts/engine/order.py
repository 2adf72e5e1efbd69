"""Find the first, nth or last occurrence of a concept, in three values.

Occurrences are in order of time, then of `ordinal`, then of `fact`. No pairs are formed: both
counts come from sorting the ends of the bounds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from cohorts.engine.language import LAST

Counts = npt.NDArray[np.int64]


def judge_which(found: pl.DataFrame, which: int) -> pl.DataFrame:
    """Limit each `status` by whether the occurrence is the one asked for.

    It is surely the nth if exactly n - 1 others precede it whenever they happened.
    """
    rank, turned = (1, _turn(found)) if which == LAST else (which, found)
    # Those that surely precede: their latest time is before the earliest of this one.
    surely = turned.filter(pl.col("status") == 2)
    least = _count_before(surely, "upper", turned, "lower")
    inexact, most = (found["lower"] < found["upper"]).to_numpy(), least
    if inexact.any() or surely.height < found.height:
        # Those that may precede: their earliest time is before the latest of this one. One with
        # inexact bounds precedes itself in this sense.
        most = _count_before(turned, "lower", turned, "upper") - inexact
    sure = (least == rank - 1) & (most == rank - 1)
    possible = (least <= rank - 1) & (most >= rank - 1)
    answer = pl.Series(sure.astype(np.int8) + possible.astype(np.int8))
    return found.with_columns(status=pl.min_horizontal("status", answer))


def _turn(found: pl.DataFrame) -> pl.DataFrame:
    """Return the occurrences with time running backwards."""
    return found.with_columns(
        lower=-pl.col("upper"),
        upper=-pl.col("lower"),
        ordinal=-pl.col("ordinal"),
        fact=-pl.col("fact"),
    )


def _count_before(counted: pl.DataFrame, end: str, asking: pl.DataFrame, start: str) -> Counts:
    """Count for each asking row the `end`s of its stay before its `start`."""
    starts, ends = _line_up(asking, start), _line_up(counted, end)
    # The sort is stable: an occurrence's own start comes before its own end.
    lined = pl.concat([starts, ends.with_columns(row=pl.lit(-1, dtype=pl.Int64))]).sort(
        "stay", "time", "ordinal", "fact", maintain_order=True
    )
    row = lined["row"].to_numpy()
    so_far = np.cumsum(row < 0)
    before = np.empty(asking.height, np.int64)
    before[row[row >= 0]] = so_far[row >= 0]
    # Without those of stays that come earlier in the sort.
    stays = np.sort(counted["stay"].to_numpy())
    return before - np.searchsorted(stays, asking["stay"].to_numpy())


def _line_up(found: pl.DataFrame, time: str) -> pl.DataFrame:
    row = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")
    return found.select("stay", pl.col(time).alias("time"), "ordinal", "fact", row)
