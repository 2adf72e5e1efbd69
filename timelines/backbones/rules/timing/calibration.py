"""Widen the bounds of text-only estimates until they can be trusted.

How far a rule misses was measured on notes of several styles (`calibration.toml`, written by
`learn_calibration.py`). Each way of decision, stated or not, has two margins: how much earlier and
how much later than its bounds the truth may be. Margins are in units of the time's scale: an hour,
or a tenth of the time before admission, whichever is more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from timelines.backbones.rules.timing.estimate import Estimate
from timelines.domain import Entry

MARGINS = Path(__file__).with_name("calibration.toml")
_SHARE = 0.1
#: Hours of a margin that also count when rows are judged.
_JUDGED = 2.0


@dataclass(frozen=True, slots=True)
class Margins:
    """How far before and after its bounds a time may be, in its scale."""

    before: float
    after: float


def time_scale(hours: float) -> float:
    """Return the unit of margins for a time (hours)."""
    return max(1.0, -_SHARE * hours)


def way_of(rule: str, known: bool) -> str:
    """Name a way of decision in the table of margins."""
    return f"{rule}, stated" if known else rule


@lru_cache(maxsize=1)
def learned_margins() -> Mapping[str, Margins]:
    """The margins of every way of decision, read once a process."""
    table = tomllib.loads(MARGINS.read_text(encoding="utf-8"))
    return {way: Margins(**values) for way, values in table.items()}


def calibrate(
    estimate: Estimate, discharge: float | None, margins: Mapping[str, Margins] | None = None
) -> Estimate:
    """Return the estimate with bounds widened by the margins of its way.

    A bound that is open stays open. Bounds do not pass `discharge` (hours) if they did not before:
    a note does not report what comes after it. `margins`: those learned if None.
    """
    table = learned_margins() if margins is None else margins
    found = table.get(way_of(estimate.rule, estimate.known))
    if found is None or estimate.time is None:
        return estimate
    unit = time_scale(estimate.time)
    low = None if estimate.low is None else estimate.low - found.before * unit
    high = None if estimate.high is None else estimate.high + found.after * unit
    if high is not None and discharge is not None and (estimate.high or 0.0) <= discharge:
        high = min(high, discharge)
    return replace(estimate, low=low, high=high)


def narrow(entry: Entry, margins: Mapping[str, Margins] | None = None) -> Entry:
    """Return a text-only entry with the bounds by which rows are judged.

    They are those that its rule read, with at most `_JUDGED` hours of its margins: rows are judged
    by what the text says, not by how far rules may miss. A bound that the discharge has cut may
    become narrower than it was, but never excludes the time.
    """
    table = learned_margins() if margins is None else margins
    found = table.get(way_of(entry.decided_by, bool(entry.known)))
    if found is None or entry.time is None:
        return entry
    unit = time_scale(entry.time)
    before = max(0.0, found.before * unit - _JUDGED)
    after = max(0.0, found.after * unit - _JUDGED)
    low = None if entry.lower is None else min(entry.lower + before, entry.time)
    high = None if entry.upper is None else max(entry.upper - after, entry.time)
    return replace(entry, lower=low, upper=high)
