"""Tell which occurrence of a concept is the first, the nth or the last, in three values.

Occurrences are in order of time, then of `ordinal`, then of `fact`. No pairs are formed: both
counts come from sorting the ends of the bounds.
"""

from __future__ import annotations

import polars as pl

from cohorts.engine.language import LAST

_ORDER = ["stay", "time", "ordinal", "fact"]


def judge_which(found: pl.DataFrame, which: int) -> pl.DataFrame:
    """Limit each `status` by whether the occurrence is the nth (or last) of its stay.

    It is surely the nth if exactly n − 1 others precede it whenever they happened.
    """
    rank, turned = (1, _turn(found)) if which == LAST else (which, found)
    # Those that surely precede: their latest time is before the earliest of this one.
    surely = _count_before(turned.filter(pl.col("status") == 2), "upper", turned, "lower")
    # Those that may precede: their earliest time is before the latest of this one. An occurrence
    # with inexact bounds is before itself in this sense.
    perhaps = _count_before(turned, "lower", turned, "upper")
    counts = surely.join(perhaps, on=["stay", "fact"], suffix="_perhaps")
    itself = (pl.col("lower") < pl.col("upper")).cast(pl.Int64)
    joined = found.join(counts, on=["stay", "fact"], how="left", maintain_order="left")
    least, most = pl.col("before"), pl.col("before_perhaps") - itself
    sure = (least == rank - 1) & (most == rank - 1)
    possible = (least <= rank - 1) & (most >= rank - 1)
    answer = sure.cast(pl.Int8) + possible.cast(pl.Int8)
    return joined.with_columns(status=pl.min_horizontal("status", answer)).select(found.columns)


def _turn(found: pl.DataFrame) -> pl.DataFrame:
    """Return the occurrences with time running backwards."""
    return found.with_columns(
        lower=-pl.col("upper"),
        upper=-pl.col("lower"),
        ordinal=-pl.col("ordinal"),
        fact=-pl.col("fact"),
        turned=pl.col("fact"),
    )


def _count_before(
    counted: pl.DataFrame, end: str, asking: pl.DataFrame, start: str
) -> pl.DataFrame:
    """Return for each asking occurrence how many `end`s of its stay are before its `start`."""
    ends = _line_up(counted, end, counts=1)
    starts = _line_up(asking, start, counts=0)
    # The sort is stable: an occurrence's own start comes before its own end.
    lined = pl.concat([starts, ends]).sort(_ORDER, maintain_order=True)
    lined = lined.with_columns(before=pl.col("counts").cum_sum().over("stay"))
    return lined.filter(pl.col("counts") == 0).select("stay", "before", fact="own")


def _line_up(found: pl.DataFrame, time: str, *, counts: int) -> pl.DataFrame:
    own = "turned" if "turned" in found.columns else "fact"
    return found.select(
        "stay",
        "ordinal",
        "fact",
        pl.col(time).alias("time"),
        pl.col(own).alias("own"),
        pl.lit(counts, dtype=pl.Int64).alias("counts"),
    )
