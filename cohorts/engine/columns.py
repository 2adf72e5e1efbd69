"""Answer in three values, column-wise: 0 no, 1 uncertain, 2 yes.

"And" is the least value, "or" the greatest, "not" 2 minus the value. Times become whole
milliseconds, so that differences are exact.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from cohorts.engine import language as lang
from cohorts.engine.language import Picked, Window
from cohorts.engine.order import judge_which
from cohorts.engine.relations import Interval, Span

NO, UNCERTAIN, YES = 0, 1, 2
MILLISECONDS = 3_600_000.0
Status = npt.NDArray[np.int8]


def to_milliseconds(hours: float) -> float:
    """Return whole milliseconds; infinity stays."""
    return float(np.round(hours * MILLISECONDS))


def round_times(*names: str) -> list[pl.Expr]:
    """Return columns of hours as whole milliseconds."""
    return [(pl.col(name) * MILLISECONDS).round() for name in names]


def contains(interval: Interval, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """Answer whether an interval contains a number from [low, high]."""
    above_low = low > interval.low if interval.low_open else low >= interval.low
    above_high = high > interval.low if interval.low_open else high >= interval.low
    below_low = low < interval.high if interval.high_open else low <= interval.high
    below_high = high < interval.high if interval.high_open else high <= interval.high
    sure, possible = above_low & below_high, above_high & below_low
    return sure.cast(pl.Int8) + possible.cast(pl.Int8)


def scale(hours: Interval) -> Interval:
    """Return an interval of hours in milliseconds."""
    low, high = to_milliseconds(hours.low), to_milliseconds(hours.high)
    return Interval(low, high, hours.low_open, hours.high_open)


def judge_span(span: Span) -> pl.Expr:
    """Answer whether an event is at the allowed distance from a reference.

    The same fact, as another concept, is at distance 0.
    """
    same = (pl.col("fact") == pl.col(f"{span.reference}.fact")).fill_null(value=False)
    nothing = pl.lit(0.0)
    low = pl.col("lower") - pl.col(f"{span.reference}.upper")
    high = pl.col("upper") - pl.col(f"{span.reference}.lower")
    return contains(
        scale(span.hours),
        pl.when(same).then(nothing).otherwise(low),
        pl.when(same).then(nothing).otherwise(high),
    )


def measure_gap(spans: tuple[Span, ...]) -> pl.Expr:
    """Return by how many milliseconds an event certainly misses its spans."""
    gaps = [pl.lit(0.0)]
    for span in spans:
        hours = scale(span.hours)
        gaps.append(hours.low - (pl.col("upper") - pl.col(f"{span.reference}.lower")))
        gaps.append((pl.col("lower") - pl.col(f"{span.reference}.upper")) - hours.high)
    return pl.max_horizontal(gaps)


class Occurrences:
    """The occurrences that a window asks about, by concept."""

    def __init__(self, window: Window, facts: pl.DataFrame) -> None:
        """Split facts of the window's concepts, as `select_facts` returns them."""
        concepts = lang.find_concepts(window)
        columns = ["stay", "concept", "fact", "ordinal", "lower", "upper", "value"]
        parts = facts.select(columns).with_columns(round_times("lower", "upper"))
        by_concept = parts.partition_by("concept", as_dict=True, include_key=False)
        empty = parts.clear().drop("concept")
        self._by_concept: Mapping[str, pl.DataFrame] = {
            name: by_concept.get((name,), empty) for name in concepts
        }
        self._picked: dict[Picked, pl.DataFrame] = {}
        self._counts: dict[Picked, pl.DataFrame] = {}

    def pick(self, picked: Picked) -> pl.DataFrame:
        """Return the occurrences that may fit, each with its `status`."""
        if picked not in self._picked:
            self._picked[picked] = self._judge(picked)
        return self._picked[picked]

    def count(self, picked: Picked) -> pl.DataFrame:
        """Return stay and `len`, the number of its occurrences that may fit."""
        if picked not in self._counts:
            self._counts[picked] = self.pick(picked).group_by("stay").len()
        return self._counts[picked]

    def _judge(self, picked: Picked) -> pl.DataFrame:
        status = pl.lit(YES, dtype=pl.Int8)
        if picked.value is not None:
            least = pl.col("value").fill_null(-np.inf)
            status = contains(picked.value, least, pl.col("value").fill_null(np.inf))
        found = self._by_concept[picked.concept].with_columns(status=status).drop("value")
        found = found.filter(pl.col("status") > NO)
        if picked.which == lang.ANY or found.is_empty():
            return found
        return judge_which(found, picked.which).filter(pl.col("status") > NO)
