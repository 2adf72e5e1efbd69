"""The result of a judge run in a sentence, before any table. No Django."""

from __future__ import annotations

from adjudication.reports.league.values import Rating, SourceRatings


def describe_ratings(rated: SourceRatings) -> str:
    """Return which source is rated highest, and whether clearly.

    Empty if fewer than two sources have ratings.
    """
    placed = sorted(
        (r for r in rated.ratings if r.rating is not None), key=lambda r: -(r.rating or 0.0)
    )
    if len(placed) < 2:
        return ""
    best, next_ = placed[:2]
    numbers = f"{best.rating:.0f} against {next_.rating:.0f}"
    if _is_above(best, next_):
        return f"{best.source} is rated highest: {numbers} for {next_.source}."
    return f"No clear difference between {best.source} and {next_.source}: {numbers}."


def _is_above(best: Rating, other: Rating) -> bool:
    """Return whether the intervals of two ratings do not overlap."""
    return best.low is not None and other.high is not None and best.low > other.high
