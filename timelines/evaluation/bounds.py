"""Coverage and width of the bounds of one source.

No Django. Occurrences count if they are matched and their reference has a time. An open side
excludes no time. Entries without any bound make no statement, so a group of them alone has no
coverage. Source: the calibration of bounds, `docs/reference/evaluation.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timelines.evaluation.figures import NO_CASE, Cases, Numbers, add_interval, ratio
from timelines.evaluation.scoring import Paired
from timelines.evaluation.values import (
    Basis,
    BoundsGroup,
    BoundsOf,
    BoundsResult,
    Estimate,
    SourceKey,
    WidthGroup,
)

#: A time this close to a bound (hours) is within it: as close as a time is to the row it cites.
BOUND_TOLERANCE = 0.02
#: Decimals of a width, and what a time may be off: differences of hours differ in their last bits.
_DECIMALS, _ROUNDING = 6, 1e-9
WIDTH_GROUPS = 10
NO_TIMED = "no paired reference occurrence has a time"
NO_BOUNDS = "no entry has a bound"
NO_CLOSED = "no entry has bounds on both sides"
Mask = NDArray[np.bool_]


def within_bounds(times: ArrayLike, lowers: ArrayLike, uppers: ArrayLike) -> Mask:
    """Return whether each time is within its bounds, give or take 0.02 h.

    An open lower bound is -inf, an open upper bound inf.
    """
    time = np.asarray(times, dtype=np.float64)
    air = BOUND_TOLERANCE + _ROUNDING
    return np.asarray(
        (time >= np.asarray(lowers, dtype=np.float64) - air)
        & (time <= np.asarray(uppers, dtype=np.float64) + air)
    )


def split_by_width(widths: ArrayLike) -> list[Mask]:
    """Return which widths belong to each tenth, the narrowest first.

    Equal widths stay together, so groups can differ in size, and there can be fewer than ten.
    """
    values = np.asarray(widths, dtype=np.float64)
    ordered, n = np.sort(values), values.size
    if not n:
        return []
    # the rank of the k-th tenth is k·n/10, rounded up
    tenths = {float(ordered[-(-k * n // WIDTH_GROUPS) - 1]) for k in range(1, WIDTH_GROUPS + 1)}
    group = np.searchsorted(sorted(tenths), values, side="left")
    return [group == number for number in range(len(tenths))]


def evaluate_bounds(key: SourceKey, basis: Basis, cases: Cases) -> BoundsResult:
    """Return coverage and width of a source's bounds, overall and in groups.

    Groups without an occurrence are left out, except the one of all. Ways of decision are listed if
    there are several, the most frequent first.
    """
    bounds = [_read(paired) for paired in cases.paired]
    groups = [
        _group(cases, bounds, [np.ones(b.ways.shape, dtype=bool) for b in bounds], BoundsOf.ALL)
    ]
    for of, stated in ((BoundsOf.STATED, 1), (BoundsOf.NOT_STATED, 0)):
        groups.append(_group(cases, bounds, [b.stated == stated for b in bounds], of))
    ways = Counter(way for b in bounds for way in b.ways.tolist())
    if len(ways) > 1:
        for way in sorted(ways, key=lambda name: (-ways[name], name)):
            chosen = [np.asarray(b.ways == way, dtype=bool) for b in bounds]
            groups.append(_group(cases, bounds, chosen, BoundsOf.WAY, way))
    return BoundsResult(
        key,
        basis,
        tuple(g for g in groups if g.occurrences or g.of is BoundsOf.ALL),
        _width_groups(cases, bounds),
    )


@dataclass(frozen=True, eq=False)
class _Bounds:
    """The counted occurrences of one case, as arrays of one length."""

    inside: Mask
    #: Infinite if a side is open.
    widths: Numbers
    bounded: Mask
    stated: Numbers
    ways: NDArray[np.object_]

    @property
    def closed(self) -> Mask:
        return np.isfinite(self.widths)


def _read(paired: Paired | None) -> _Bounds:
    if paired is None:
        none, no_number = np.empty(0, dtype=bool), np.empty(0)
        return _Bounds(none, no_number, none, no_number, np.empty(0, dtype=object))
    timed = ~np.isnan(paired.reference_times)
    lowers, uppers = paired.lowers[timed], paired.uppers[timed]
    return _Bounds(
        within_bounds(paired.reference_times[timed], lowers, uppers),
        np.round(uppers - lowers, _DECIMALS),
        np.isfinite(lowers) | np.isfinite(uppers),
        paired.stated[timed],
        paired.ways[timed],
    )


def _group(
    cases: Cases, bounds: Sequence[_Bounds], chosen: Sequence[Mask], of: BoundsOf, way: str = ""
) -> BoundsGroup:
    both = list(zip(bounds, chosen, strict=True))
    sizes = [int(c.sum()) for c in chosen]
    occurrences = sum(sizes)
    missing = NO_TIMED if cases.available.any() else NO_CASE
    if occurrences and not any((b.bounded & c).any() for b, c in both):
        coverage = Estimate(None, n=occurrences, why=NO_BOUNDS)
    else:
        coverage = _share(cases, [b.inside & c for b, c in both], sizes, missing)
    closed = [b.widths[b.closed & c] for b, c in both]
    pooled = np.concatenate([*closed, np.empty(0)])
    return BoundsGroup(
        of=of,
        way=way,
        occurrences=occurrences,
        coverage=coverage,
        width=add_interval(
            cases,
            float(np.median(pooled)) if pooled.size else None,
            cases.resamples.median_error(closed),
            pooled.size,
            NO_CLOSED if occurrences else missing,
        ),
        open=_share(cases, [~b.closed & c for b, c in both], sizes, missing),
    )


def _width_groups(cases: Cases, bounds: Sequence[_Bounds]) -> tuple[WidthGroup, ...]:
    widths = [b.widths[b.closed] for b in bounds]
    inside = [b.inside[b.closed] for b in bounds]
    pooled = np.concatenate([*widths, np.empty(0)])
    ends = np.cumsum([w.size for w in widths])[:-1]
    found = []
    for members in split_by_width(pooled):
        chosen = np.split(members, ends)
        own = pooled[members]
        found.append(
            WidthGroup(
                float(own.min()),
                float(own.max()),
                float(np.median(own)),
                _share(
                    cases,
                    [i & c for i, c in zip(inside, chosen, strict=True)],
                    [int(c.sum()) for c in chosen],
                    NO_CLOSED,
                ),
            )
        )
    return tuple(found)


def _share(cases: Cases, above: Sequence[Mask], sizes: Sequence[int], why: str) -> Estimate:
    return add_interval(cases, *ratio(cases, [int(a.sum()) for a in above], sizes, why))
