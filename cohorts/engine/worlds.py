"""Draw worlds: one time for every fact of a stay, inside its bounds.

Each world is a stay of its own with exact facts, so that one evaluation answers for all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from cohorts.engine.evaluating import judge_window
from cohorts.engine.language import Window
from cohorts.engine.pairs import Pairs
from cohorts.engine.unknowns import draw_stay_facts, draw_values

#: An open side ends a day before admission, or a day after discharge.
MARGIN = 24.0
#: At most so many occurrences are drawn at once.
MAX_ROWS = 2_000_000
Floats = npt.NDArray[np.float64]


def close_bounds(facts: pl.DataFrame, stays: pl.DataFrame) -> pl.DataFrame:
    """Return the facts with open sides closed, so that regions have a size.

    An open side ends at admission − 24 h or at discharge + 24 h, or at the fact's own time or
    other bound if that is further out. Without a discharge, the latest known hour of its facts
    counts instead.
    """
    ends = pl.max_horizontal(
        *(
            pl.when(pl.col(name).is_finite()).then(pl.col(name))
            for name in ("lower", "upper", "point")
        )
    )
    latest = pl.max_horizontal(ends.max().over("stay"), pl.lit(0.0))
    discharges = stays.select("stay", "discharge")
    known = facts.join(discharges, on="stay", how="left", maintain_order="left")
    last = pl.coalesce("discharge", latest) + MARGIN
    finite = [pl.when(pl.col(n).is_finite()).then(pl.col(n)) for n in ("point", "lower", "upper")]
    first = pl.min_horizontal(pl.lit(-MARGIN), finite[0], finite[2])
    final = pl.max_horizontal(last, finite[0], finite[1])
    lower, upper = pl.col("lower"), pl.col("upper")
    return known.with_columns(
        lower=pl.when(lower.is_finite()).then(lower).otherwise(first),
        upper=pl.when(upper.is_finite()).then(upper).otherwise(final),
    ).drop("discharge")


def draw_shares(places: npt.NDArray[np.int64], worlds: npt.NDArray[np.int64]) -> Floats:
    """Return numbers of [0, 1), spread evenly over the worlds.

    An additive recurrence (Richtmyer): dimension d advances by the root of the d-th prime.
    """
    steps = np.sqrt(_primes(int(places.max(initial=0)) + 1))
    return np.asarray(((worlds + 1) * steps[places] + 0.5) % 1.0, np.float64)


def _primes(count: int) -> Floats:
    limit = 30 + int(count * (np.log(count + 1) + 3))
    sieve = np.ones(limit, bool)
    sieve[:2] = False
    for number in range(2, int(limit**0.5) + 1):
        sieve[number * number :: number] = False
    return np.flatnonzero(sieve)[:count].astype(np.float64)


def judge_worlds(
    window: Window,
    facts: pl.DataFrame,
    stays: pl.DataFrame,
    worlds: int,
    *,
    corners: bool = False,
    first: int = 0,
    pairs: Pairs | None = None,
) -> pl.DataFrame:
    """Return for each stay how many worlds say no, uncertain and yes.

    `corners`: draw also unknown values, and an end of the bounds in every second world. `pairs`:
    how many may be compared in all, else it is limited for each part; raises TooManyPairs.
    """
    closed = close_bounds(facts, stays)
    parts = [
        _judge_part(window, some_facts, some, range(first, first + worlds), corners, pairs)
        for some_facts, some in _split(closed, stays, worlds)
    ]
    return pl.concat(parts)


def _split(
    facts: pl.DataFrame, stays: pl.DataFrame, worlds: int
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    rows = max(1, facts.height * worlds // max(1, stays.height))
    size = max(1, MAX_ROWS // max(rows, worlds))
    for start in range(0, stays.height, size):
        some = stays.slice(start, size)
        yield facts.join(some.select("stay"), on="stay", how="semi"), some


def _judge_part(
    window: Window,
    facts: pl.DataFrame,
    stays: pl.DataFrame,
    worlds: range,
    corners: bool,
    pairs: Pairs | None,
) -> pl.DataFrame:
    drawn = _draw(facts, worlds, corners=corners)
    numbers = pl.DataFrame({"world": list(worlds)}, schema={"world": pl.Int64})
    every = stays.join(numbers, how="cross").with_row_index("drawn").cast({"drawn": pl.Int64})
    if corners:
        drawn, every = draw_values(window, drawn), draw_stay_facts(window, every)
    keys = every.select("stay", "world", "drawn")
    inside = drawn.join(keys, on=["stay", "world"]).drop("stay").rename({"drawn": "stay"})
    all_drawn = every.drop("stay").rename({"drawn": "stay"})
    status = judge_window(window, inside, all_drawn, pairs, explain=False).status
    return (
        keys.with_columns(status=pl.Series(status))
        .group_by("stay", maintain_order=True)
        .agg(
            no=(pl.col("status") == 0).sum(),
            uncertain=(pl.col("status") == 1).sum(),
            yes=(pl.col("status") == 2).sum(),
        )
    )


def _draw(facts: pl.DataFrame, worlds: range, *, corners: bool) -> pl.DataFrame:
    """Return each fact at one time in each world, of any concept."""
    times = facts.unique(["stay", "fact"], maintain_order=True).select("stay", "fact")
    times = times.with_columns(place=pl.int_range(pl.len()).over("stay"))
    numbered = facts.join(times, on=["stay", "fact"], how="left", maintain_order="left")
    numbers = pl.DataFrame({"world": list(worlds)}, schema={"world": pl.Int64})
    every = numbered.join(numbers, how="cross")
    world = every["world"].to_numpy()
    share = draw_shares(every["place"].to_numpy(), world)
    if corners:
        share = np.where(world % 2 == 1, np.round(share), share)
    lower, upper = every["lower"].to_numpy(), every["upper"].to_numpy()
    at = pl.Series(np.where(lower == upper, lower, lower + share * (upper - lower)))
    return every.with_columns(lower=at, upper=at, share=pl.Series(share)).drop("place")
