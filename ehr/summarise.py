"""From rows to series.

A series is all rows of one encounter with exactly the same event name, with its description.
Columns in, columns out; a million rows take a fraction of a second. Text is made from a series only
when it is rendered (`ehr.presentation.rendering`). Source: protocol, "Structured record". No Django
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.schema import find_priority

#: A series is numeric when at least this share of its non-empty values are numbers.
NUMERIC_SHARE = 0.8
#: Series of at most this many observations list every value and time.
LISTED_OBSERVATIONS = 12
TOP_VALUES = 5

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Observation:
    """One row as a series shows it; `time` is None if the record has none."""

    time: datetime | None
    value: str
    unit: str


@dataclass(frozen=True, slots=True)
class NumericSummary:
    """Statistics of the `count` numbers of a series.

    `mean` and `sd` (sample; None for a single number), and the rows with the extremes.
    """

    count: int
    mean: float
    sd: float | None
    lowest: Observation
    highest: Observation


@dataclass(frozen=True, slots=True)
class Series:
    """One series.

    `first`/`last` are its first and last timed observations, None if no row has a time. Numeric
    series have `numbers`, the others `top_values` (value, frequency; most frequent first, ties by
    text) and the number of `other_values`. `observations` has every row, in time order, if there
    are at most twelve.
    """

    event: str
    group: int
    count: int
    row_indices: tuple[int, ...]
    units: tuple[str, ...]
    first: Observation | None
    last: Observation | None
    numbers: NumericSummary | None
    top_values: tuple[tuple[str, int], ...]
    other_values: int
    observations: tuple[Observation, ...] | None

    @property
    def priority(self) -> int:
        """Its place in the clinical priority, 0 first."""
        return find_priority(self.event)


@dataclass(frozen=True)
class SeriesColumns:
    """All series of a block of rows.

    `order` sorts the rows by group, event, time (none last) and position; the rows of series i are
    `order[starts[i] : starts[i] + counts[i]]`. NaN means "no number", -1 means "no row"; positions
    point into the sorted rows.
    """

    rows: pa.Table
    order: Ints
    starts: Ints
    counts: Ints
    groups: Ints
    timed: Ints
    is_numeric: NDArray[np.bool_]
    number_counts: Ints
    means: Floats
    sds: Floats
    lowest: Ints
    highest: Ints
    values: _TopValues

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Series]:
        return (self.series(i) for i in range(len(self)))

    def series(self, i: int) -> Series:
        """Return series i; series are in order of group and first appearance."""
        start, count, timed = int(self.starts[i]), int(self.counts[i]), int(self.timed[i])
        numeric = bool(self.is_numeric[i])
        top, others = ((), 0) if numeric else self.values.top_values(i)
        units = self._units[start : start + count]
        return Series(
            event=self._events[start],
            group=int(self.groups[i]),
            count=count,
            row_indices=tuple(self._indices[start : start + count]),
            units=tuple(dict.fromkeys(unit for unit in units if unit)),
            first=self._observation(start) if timed else None,
            last=self._observation(start + timed - 1) if timed else None,
            numbers=self._numbers(i) if numeric else None,
            top_values=top,
            other_values=others,
            observations=tuple(self._observation(k) for k in range(start, start + count))
            if count <= LISTED_OBSERVATIONS
            else None,
        )

    def _numbers(self, i: int) -> NumericSummary:
        sd = float(self.sds[i])
        return NumericSummary(
            count=int(self.number_counts[i]),
            mean=float(self.means[i]),
            sd=None if np.isnan(sd) else sd,
            lowest=self._observation(int(self.lowest[i])),
            highest=self._observation(int(self.highest[i])),
        )

    def _observation(self, k: int) -> Observation:
        return Observation(self._times[k], self._values[k], self._units[k])

    def _take_sorted(self, name: str) -> list[Any]:
        return self.rows[name].take(pa.array(self.order)).to_pylist()

    @cached_property
    def _events(self) -> list[str]:
        return self._take_sorted("event")

    @cached_property
    def _times(self) -> list[datetime | None]:
        return self._take_sorted("time")

    @cached_property
    def _values(self) -> list[str]:
        return self._take_sorted("value")

    @cached_property
    def _units(self) -> list[str]:
        return self._take_sorted("unit")

    @cached_property
    def _indices(self) -> list[int]:
        return self._take_sorted("row_index")


@dataclass(frozen=True)
class _TopValues:
    """The most frequent values of the series that are not numeric.

    `others` counts the other values of each series.
    """

    texts: pa.Array
    codes: Ints
    frequencies: Ints
    bounds: Ints
    others: Ints

    def top_values(self, i: int) -> tuple[tuple[tuple[str, int], ...], int]:
        start, stop = int(self.bounds[i]), int(self.bounds[i + 1])
        pairs = zip(
            self.codes[start:stop].tolist(), self.frequencies[start:stop].tolist(), strict=True
        )
        return tuple((self.texts[code].as_py(), frequency) for code, frequency in pairs), int(
            self.others[i]
        )


def summarise(
    rows: pa.Table, groups: NDArray[np.integer] | None = None, *, untimed: bool = False
) -> SeriesColumns:
    """Group rows by group and exact event name, and describe each series.

    The rows have columns of `ehr.schema.ROWS`. `groups` has the encounter of each row of a block
    (default: one encounter). Rows without a time are left out unless `untimed` (the judge's
    renderer shows them).
    """
    if not untimed:
        timed = pc.is_valid(rows["time"])
        if not pc.all(timed, min_count=0).as_py():
            keep = np.flatnonzero(timed.to_numpy())
            rows, groups = rows.take(pa.array(keep)), None if groups is None else groups[keep]
    group = np.zeros(len(rows), np.int64) if groups is None else groups.astype(np.int64)
    times = _times(rows)
    key = _keys(rows, group)
    order = _order(key, times)
    key = key[order]
    starts = (
        np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        if len(key)
        else np.zeros(0, np.int64)
    )
    counts = np.diff(np.append(starts, len(key)))
    numbers = rows["numeric_value"].fill_null(np.nan).to_numpy()[order]
    filled = (pc.binary_length(rows["value"]).to_numpy() > 0)[order]
    return _describe_series(rows, order, starts, counts, group, times[order], numbers, filled)


def _times(rows: pa.Table) -> Ints:
    """Return microseconds since 1970, the largest integer for no time.

    Rows without a time so sort last.
    """
    return rows["time"].cast(pa.int64()).fill_null(np.iinfo(np.int64).max).to_numpy()


def _keys(rows: pa.Table, group: Ints) -> Ints:
    """Return one integer for each series.

    They are in order of group, then of first appearance of the event in the block.
    """
    events = rows["event"].combine_chunks().dictionary_encode()
    if isinstance(events, pa.ChunkedArray):
        events = (
            events.chunk(0) if events.num_chunks else pa.array([], pa.string()).dictionary_encode()
        )
    return group * max(len(events.dictionary), 1) + events.indices.to_numpy().astype(np.int64)


def _order(key: Ints, times: Ints) -> Ints:
    """Return positions sorted by key, time and position (stable).

    Rows that come in time order save one pass.
    """
    if np.all(times[1:] >= times[:-1]):
        return _sort_stably(key)
    by_time = np.argsort(times, kind="stable")
    return by_time[_sort_stably(key[by_time])]


def _sort_stably(key: Ints) -> Ints:
    """Return a stable argsort.

    Small keys go through numpy's radix sort; large keys are made small first if they are few.
    """
    if len(key) and int(key.max()) >= 1 << 16:
        distinct = pc.unique(pa.array(key))
        if len(distinct) >= 1 << 16:
            # Two radix passes, low half first.
            dense = np.searchsorted(np.sort(distinct.to_numpy()), key)
            low = np.argsort((dense & 0xFFFF).astype(np.uint16), kind="stable")
            return low[np.argsort((dense >> 16).astype(np.uint16)[low], kind="stable")]
        key = np.searchsorted(np.sort(distinct.to_numpy()), key)
    return np.argsort(key.astype(np.uint16), kind="stable")


def _describe_series(
    rows: pa.Table,
    order: Ints,
    starts: Ints,
    counts: Ints,
    group: Ints,
    times: Ints,
    numbers: Floats,
    filled: NDArray[np.bool_],
) -> SeriesColumns:
    """Statistics of each series over the sorted columns."""
    if not len(starts):
        nothing, none = np.zeros(0, np.int64), np.zeros(0)
        values = _TopValues(
            pa.array([], pa.string()), nothing, nothing, np.zeros(1, np.int64), nothing
        )
        return SeriesColumns(
            rows,
            order,
            nothing,
            nothing,
            nothing,
            nothing,
            none.astype(bool),
            nothing,
            none,
            none,
            nothing,
            nothing,
            values,
        )
    present = np.isfinite(numbers)
    number_counts = np.add.reduceat(present, starts, dtype=np.int64)
    is_numeric = (number_counts > 0) & (
        number_counts >= NUMERIC_SHARE * np.add.reduceat(filled, starts, dtype=np.int64)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.add.reduceat(np.where(present, numbers, 0.0), starts) / number_counts
        deviations = np.where(present, numbers - np.repeat(means, counts), 0.0)
        sds = np.sqrt(np.add.reduceat(deviations * deviations, starts) / (number_counts - 1))
    return SeriesColumns(
        rows=rows,
        order=order,
        starts=starts,
        counts=counts,
        groups=group[order][starts],
        timed=np.add.reduceat(times != np.iinfo(np.int64).max, starts, dtype=np.int64),
        is_numeric=is_numeric,
        number_counts=number_counts,
        means=means,
        sds=np.where(number_counts > 1, sds, np.nan),
        lowest=_first_extreme(numbers, present, starts, counts, np.minimum, np.inf),
        highest=_first_extreme(numbers, present, starts, counts, np.maximum, -np.inf),
        values=_top_values(rows, order, starts, counts, filled, is_numeric),
    )


def _first_extreme(
    numbers: Floats,
    present: NDArray[np.bool_],
    starts: Ints,
    counts: Ints,
    choose: np.ufunc,
    fill: float,
) -> Ints:
    """Return the first sorted position of each series' extreme number.

    -1 for a series without numbers.
    """
    extremes = choose.reduceat(np.where(present, numbers, fill), starts)
    matches = np.flatnonzero(present & (numbers == np.repeat(extremes, counts)))
    first = np.searchsorted(matches, starts)
    candidates = np.where(
        first < len(matches),
        matches[np.minimum(first, len(matches) - 1)] if len(matches) else -1,
        -1,
    )
    return np.where((candidates >= starts) & (candidates < starts + counts), candidates, -1)


def _top_values(
    rows: pa.Table,
    order: Ints,
    starts: Ints,
    counts: Ints,
    filled: NDArray[np.bool_],
    is_numeric: NDArray[np.bool_],
) -> _TopValues:
    """Count the values of the series that are not numeric.

    Most frequent first, ties by text, at most TOP_VALUES of each series.
    """
    chosen = np.flatnonzero(filled & ~np.repeat(is_numeric, counts))
    values = rows["value"].take(pa.array(order[chosen])).combine_chunks().dictionary_encode()
    if isinstance(values, pa.ChunkedArray):
        values = (
            values.chunk(0) if values.num_chunks else pa.array([], pa.string()).dictionary_encode()
        )
    by_text = pc.sort_indices(values.dictionary)
    texts = values.dictionary.take(by_text)
    rank = np.empty(len(texts), np.int64)
    rank[by_text.to_numpy()] = np.arange(len(texts))
    series = np.repeat(np.arange(len(starts)), counts)[chosen]
    pairs, frequencies = np.unique(
        series * max(len(texts), 1) + rank[values.indices.to_numpy()], return_counts=True
    )
    owner, code = np.divmod(pairs, max(len(texts), 1))
    ranking = np.lexsort((code, -frequencies, owner))
    owner, code, frequencies = owner[ranking], code[ranking], frequencies[ranking]
    unique = np.bincount(owner, minlength=len(starts))
    place = np.arange(len(owner)) - np.repeat(np.cumsum(unique) - unique, unique)
    kept = place < TOP_VALUES
    bounds = np.concatenate([[0], np.cumsum(np.minimum(unique, TOP_VALUES))])
    return _TopValues(
        texts, code[kept], frequencies[kept], bounds, np.maximum(unique - TOP_VALUES, 0)
    )
