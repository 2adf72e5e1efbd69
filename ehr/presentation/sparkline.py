"""The shape of a series in a few pixels, as an SVG path.

It is computed here so that the page needs no script for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 120.0
HEIGHT = 24.0
MARGIN = 2.0
MAX_POINTS = 120


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A line in a WIDTH × HEIGHT box.

    `path` draws it; `x`, `y` mark the last observation; `low`, `high` are its range.
    """

    path: str
    x: str
    y: str
    low: float
    high: float


def sparkline(points: Sequence[tuple[float, float]]) -> Sparkline | None:
    """Return the path of (hours, value) pairs in time order.

    Returns None for fewer than two observations. A long series keeps the lowest and highest value
    of each bucket of time, so that no peak is lost.
    """
    if len(points) < 2:
        return None
    points = thin(points)
    hours = [h for h, _ in points]
    values = [v for _, v in points]
    low, high = min(values), max(values)
    xs = _scale(hours, min(hours), max(hours), MARGIN, WIDTH - MARGIN)
    ys = _scale(values, low, high, HEIGHT - MARGIN, MARGIN)
    pairs = [f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True)]
    return Sparkline("M" + "L".join(pairs), f"{xs[-1]:.1f}", f"{ys[-1]:.1f}", low, high)


def _scale(
    numbers: Sequence[float], low: float, high: float, start: float, stop: float
) -> list[float]:
    if high == low:
        return [(start + stop) / 2] * len(numbers)
    return [start + (n - low) / (high - low) * (stop - start) for n in numbers]


def thin(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Return at most MAX_POINTS points.

    They are the lowest and highest of each bucket of time.
    """
    if len(points) <= MAX_POINTS:
        return points
    buckets = MAX_POINTS // 2
    kept: list[tuple[float, float]] = []
    for b in range(buckets):
        chunk = points[b * len(points) // buckets : (b + 1) * len(points) // buckets]
        kept.extend(sorted({min(chunk, key=lambda p: p[1]), max(chunk, key=lambda p: p[1])}))
    return kept
