"""Find the facts that decide an answer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from cohorts.engine.columns import NO, UNCERTAIN, YES, Status
from cohorts.engine.language import Event

#: No facts; `row` is the row of the frame that the answer is about.
NOTHING = pl.DataFrame(schema={"row": pl.UInt32, "fact": pl.Int64})


@dataclass
class Judged:
    """The answer for each row, and the facts that decide it."""

    status: Status
    deciding: pl.DataFrame = field(default_factory=lambda: NOTHING)


def find_deciding(event: Event, pairs: pl.DataFrame, inner: Judged, answer: Status) -> pl.DataFrame:
    """Return the facts that decide each row's answer.

    Yes: the earliest that suffice. Uncertain, or too many: those that count or may. Too few: the
    one that comes nearest. What decides inside of them is added.
    """
    pairs = pairs.select("row", "fact", "own", "gap", "lower", "ordinal").with_columns(
        pair=pl.int_range(pl.len(), dtype=pl.UInt32),
        status=pl.Series(inner.status, dtype=pl.Int8),
        answer=pl.Series(answer[pairs["row"].to_numpy()], dtype=pl.Int8),
    )
    chosen = pl.concat(
        [_find_sufficient(event, pairs), _find_open(event, pairs), _find_nearest(event, pairs)]
    )
    own = chosen.select("row", "fact")
    inside = inner.deciding.join(
        chosen.select("pair", outer="row"), left_on="row", right_on="pair"
    ).select(pl.col("outer").alias("row"), "fact")
    return pl.concat([own, inside])


def _find_sufficient(event: Event, pairs: pl.DataFrame) -> pl.DataFrame:
    sure = pairs.filter((pl.col("answer") == YES) & (pl.col("status") == YES))
    earliest = sure.sort("row", "lower", "ordinal").group_by("row", maintain_order=True)
    return earliest.head(event.at_least).select(pairs.columns)


def _find_open(event: Event, pairs: pl.DataFrame) -> pl.DataFrame:
    counting = pairs.filter((pl.col("answer") < YES) & (pl.col("status") > NO))
    if event.at_most is None:
        return counting
    # If there are too many, those that surely count are enough to say so.
    return counting.filter((pl.col("answer") == UNCERTAIN) | (pl.col("status") == YES))


def _find_nearest(event: Event, pairs: pl.DataFrame) -> pl.DataFrame:
    if event.at_least == 0:
        return pairs.clear()
    missing = pairs.filter((pl.col("answer") == NO) & (pl.col("status") == NO))
    # One whose relations fit, and only what is inside does not, comes nearer than any other.
    order = missing.sort("row", "own", "gap", "lower", descending=[False, True, False, False])
    return order.unique("row", keep="first", maintain_order=True)


def keep_rows(judged: Judged, kept: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """Return the deciding facts of some of the rows."""
    if judged.deciding.is_empty():
        return judged.deciding
    return judged.deciding.filter(pl.Series(kept)[judged.deciding["row"]])
