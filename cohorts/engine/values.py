"""The data that a window is evaluated over: facts and stays.

Times are hours from admission. A fact may have happened at any time of [lower, upper].
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import polars as pl

#: `fact` is unique within a stay; a fact of two concepts is in two lines. `ordinal` breaks ties
#: of time. An open side is ±inf; `point` is null if the fact has no time, `value` if it has none.
FACTS = {
    "stay": pl.Int64,
    "concept": pl.String,
    "fact": pl.Int64,
    "ordinal": pl.Int32,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "point": pl.Float64,
    "value": pl.Float64,
}
#: What is null is unknown: the stay is then uncertain for criteria that ask about it.
STAYS = {
    "stay": pl.Int64,
    "discharge": pl.Float64,
    "age": pl.Float64,
    #: The highest age that it may be; null if the age is exact.
    "age_until": pl.Float64,
    "sex": pl.String,
    "length": pl.Float64,
    "unit": pl.String,
    "disposition": pl.String,
}


class WindowError(ValueError):
    """A window cannot be used; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One occurrence of a concept in a stay."""

    stay: int
    concept: str
    time: float | None = None
    lower: float | None = None
    upper: float | None = None
    value: float | None = None
    ordinal: int = 0

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the earliest and latest hour; an open side is infinite.

        A time without bounds is exact; without time and bounds, any hour is possible.
        """
        if self.time is not None and self.lower is None and self.upper is None:
            return self.time, self.time
        return (
            -math.inf if self.lower is None else self.lower,
            math.inf if self.upper is None else self.upper,
        )


def make_facts(facts: Iterable[Fact]) -> pl.DataFrame:
    """Return a frame of facts, whose ids are their places in the list."""
    rows = [
        (f.stay, f.concept, i, f.ordinal, *f.bounds, f.time, f.value) for i, f in enumerate(facts)
    ]
    return pl.DataFrame(rows, schema=FACTS, orient="row")


def select_facts(facts: pl.DataFrame, concepts: Collection[str]) -> pl.DataFrame:
    """Return the facts of some concepts; null bounds are open, NaN unknown."""
    return facts.filter(pl.col("concept").is_in(list(concepts))).with_columns(
        lower=pl.col("lower").fill_null(-math.inf),
        upper=pl.col("upper").fill_null(math.inf),
        value=pl.col("value").cast(pl.Float64).fill_nan(None),
    )


def make_stays(stays: Iterable[dict[str, object]]) -> pl.DataFrame:
    """Return a frame of stays; what a stay does not name is unknown."""
    return pl.DataFrame(list(stays), schema=STAYS)
