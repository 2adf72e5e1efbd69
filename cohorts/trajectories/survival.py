"""Time from hour 0 to a concept, with bounds that are wide and stays that end before.

No Django here. lifelines estimates; it is imported when a curve is drawn, because it brings pandas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from cohorts.trajectories.aligning import Aligned

#: Hours to which bounds are rounded: the first that leaves at most `MOST_INTERVALS` different
#: intervals, so that thousands of stays are estimated in about a second.
GRIDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_INTERVALS = 400
#: Of the estimate: shares differ by less in its last step.
TOLERANCE = 1e-4
#: Hours at which the table counts the stays at risk.
TICKS = (0.0, 6.0, 12.0, 24.0, 48.0, 72.0, 168.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """When the event of one stay happened: in `(lower, upper]` hours, inf if not seen."""

    stay: int
    lower: float
    upper: float

    @property
    def is_seen(self) -> bool:
        return math.isfinite(self.upper)


@dataclass(frozen=True, slots=True)
class Curve:
    """The share of stays without the event, as steps, and the stays at risk at `TICKS`.

    `lowest` and `highest` differ where the bounds do not decide.
    """

    group: str
    times: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    at_risk: tuple[int, ...]
    stays: int
    events: int
    #: Hours to which wide bounds were rounded; 0 if all times are exact.
    grid: float = 0.0


@dataclass(frozen=True, slots=True)
class Times:
    """The intervals of the stays, and those that had the event before hour 0."""

    intervals: tuple[Interval, ...]
    before: tuple[int, ...]


def find_intervals(aligned: Aligned, concept: str) -> Times:
    """Return when each aligned stay first had the concept after hour 0.

    An event counts if its time is not before hour 0. Its bounds are cut there. A stay without one
    is censored at discharge, or at hour 0 if none is recorded.
    """
    of_concept = aligned.facts.filter(pl.col("concept") == concept)
    before = of_concept.filter(pl.col("at") < 0)["stay"].unique().to_list()
    first = (
        of_concept.filter(~pl.col("stay").is_in(before))
        .sort("at", "fact")
        .group_by("stay", maintain_order=True)
        .first()
    )
    found = {
        stay: Interval(stay, max(lower, 0.0), max(upper, 0.0))
        for stay, lower, upper in first.select("stay", "lower", "upper").iter_rows()
    }
    rest = aligned.stays.filter(~pl.col("stay").is_in([*before, *found]))
    for stay, end in rest.select("stay", "end").iter_rows():
        found[stay] = Interval(stay, max(end or 0.0, 0.0), math.inf)
    ordered = sorted(found.values(), key=lambda one: one.stay)
    return Times(tuple(ordered), tuple(sorted(before)))


def draw_curves(
    intervals: Sequence[Interval], groups: Mapping[int, str] | None = None
) -> tuple[Curve, ...]:
    """Return a curve for each group (stay → name), or one of all stays."""
    by_group: dict[str, list[Interval]] = {}
    for interval in intervals:
        name = "All stays" if groups is None else groups.get(interval.stay, "")
        by_group.setdefault(name, []).append(interval)
    return tuple(_estimate(name, found) for name, found in sorted(by_group.items()))


def _estimate(group: str, intervals: Sequence[Interval]) -> Curve:
    events = sum(one.is_seen for one in intervals)
    exact = all(one.lower == one.upper or not one.is_seen for one in intervals)
    at_risk = tuple(sum(one.lower >= tick for one in intervals) for tick in TICKS)
    if not events:
        return Curve(group, (0.0,), (1.0,), (1.0,), at_risk, len(intervals), 0)
    if exact:
        times, shares = _fit_exact(intervals)
        return Curve(group, times, shares, shares, at_risk, len(intervals), events)
    times, lowest, highest, grid = _fit_wide(intervals)
    return Curve(group, times, lowest, highest, at_risk, len(intervals), events, grid)


def _fit_exact(intervals: Sequence[Interval]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    from lifelines import KaplanMeierFitter

    fitter = KaplanMeierFitter().fit(
        [one.lower for one in intervals], [one.is_seen for one in intervals]
    )
    shares = fitter.survival_function_.iloc[:, 0]
    return tuple(float(time) for time in shares.index), tuple(float(share) for share in shares)


def _fit_wide(
    intervals: Sequence[Interval],
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], float]:
    from lifelines import KaplanMeierFitter

    for grid in GRIDS:
        counted = Counter(_round(one, grid) for one in intervals)
        if len(counted) <= MOST_INTERVALS:
            break
    fitter = KaplanMeierFitter().fit_interval_censoring(
        [lower for lower, _ in counted],
        [upper for _, upper in counted],
        weights=list(counted.values()),
        tol=TOLERANCE,
    )
    rows = [
        (float(at), float(up), float(low)) for at, up, low in fitter.survival_function_.itertuples()
    ]
    return *_open_band([row for row in rows if math.isfinite(row[0])]), grid


def _round(interval: Interval, grid: float) -> tuple[float, float]:
    """Return the interval on the grid; an exact time among wide ones takes one step."""
    lower = math.floor(interval.lower / grid) * grid
    if not interval.is_seen:
        return lower, math.inf
    upper = max(math.ceil(interval.upper / grid) * grid, grid)
    return (lower if lower < upper else upper - grid), upper


def _open_band(
    rows: Sequence[tuple[float, float, float]],
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Return times and the lowest and highest share from each time on.

    lifelines gives (time, upper, lower); upper and lower differ at the end of an interval in which
    the share falls. There the lowest falls at its beginning and the highest at its end.
    """
    lowest = [
        rows[n + 1][2] if n + 1 < len(rows) and rows[n + 1][1] > rows[n + 1][2] else low
        for n, (_, _, low) in enumerate(rows)
    ]
    return tuple(time for time, _, _ in rows), tuple(lowest), tuple(low for _, _, low in rows)
