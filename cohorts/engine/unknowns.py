"""Draw unknown values and stay facts, on which an answer may depend."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from cohorts.engine import language as lang
from cohorts.engine.language import Stay, Window
from cohorts.engine.relations import Interval

#: A word that no window asks about.
_OTHER = "\x00"
_GOLDEN = 0.6180339887498949


def draw_values(window: Window, drawn: pl.DataFrame) -> pl.DataFrame:
    """Return the occurrences, with a drawn value if none is known."""
    tested = [picked.value for picked in lang.find_picked(window) if picked.value is not None]
    if not tested or not drawn["value"].null_count():
        return drawn
    digits = (drawn["share"].to_numpy() * 7919 + drawn["world"].to_numpy() * _GOLDEN) % 1.0
    values = pl.Series(_choose(_list_numbers(tested), digits), dtype=pl.Float64)
    return drawn.with_columns(value=pl.col("value").fill_null(values))


def draw_stay_facts(window: Window, stays: pl.DataFrame) -> pl.DataFrame:
    """Return the stays, with drawn discharge and facts if none is known."""
    worlds = stays["world"].to_numpy()
    tests = [c for c in lang.walk(window.where) if isinstance(c, Stay)]
    for place, about in enumerate(dict.fromkeys(test.about for test in tests)):
        asked = [test.value for test in tests if test.about == about]
        digits = ((worlds + 1) * _GOLDEN * (place + 1)) % 1.0
        if about in lang.NUMBERS:
            numbers = _list_numbers(v for v in asked if isinstance(v, Interval))
            drawn = pl.Series(_choose(numbers, digits), dtype=pl.Float64)
        else:
            words = [*dict.fromkeys(v for v in asked if isinstance(v, str)), _OTHER]
            drawn = pl.Series(_choose(words, digits), dtype=pl.String)
        stays = stays.with_columns(pl.col(about).fill_null(drawn))
    hours = pl.Series(((worlds + 1) * _GOLDEN) % 1.0 * 200)
    return stays.with_columns(discharge=pl.col("discharge").fill_null(hours))


def _list_numbers(tested: Iterable[Interval]) -> list[float]:
    """Return the limits, a number between each two, and one beyond each end."""
    ends = sorted({e for t in tested for e in (t.low, t.high) if abs(e) != float("inf")})
    between = [(low + high) / 2 for low, high in itertools.pairwise(ends)]
    return [ends[0] - 1, *ends, *between, ends[-1] + 1]


def _choose(values: list[float] | list[str], digits: npt.NDArray[np.float64]) -> object:
    return np.array(values)[np.floor(digits * len(values)).astype(int)]
