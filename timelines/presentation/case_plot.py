"""The data that the case page's scripts draw.

Every occurrence of a timeline, with its words, its place on the plot and what it is compared with.

No Django here. Positions are shares of the plot's width (`timelines.presentation.plots`); words
come from `wording`, so scripts compute neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ehr.presentation.clock import Clock
from ehr.presentation.wording import hours_words
from timelines.domain import Anchor, Lane, differs
from timelines.presentation.plots import ZERO, Axis, LaneRows, Mark, build_axis, density, lanes
from timelines.presentation.status import Status
from timelines.presentation.wording import LANE_WORDS, shift_words

DENSITY_BINS = 120


@dataclass(frozen=True, slots=True)
class Tick:
    """A row of evidence under an occurrence, hours from admission."""

    hours: float
    adopted: bool


@dataclass(frozen=True, slots=True)
class Item:
    """One occurrence according to one timeline.

    `key` is its UID, or a name of its own if the source has no inventory.
    """

    key: str
    number: int
    mention: str
    lane: Lane
    status: Status
    time: float | None
    lower: float | None
    upper: float | None
    absent: bool = False
    start: int | None = None
    #: The text-only time, if this timeline revised it.
    text_time: float | None = None
    revised: bool = False
    #: Time of the paired occurrence of the reference; `reference_key` is its UID there.
    reference_time: float | None = None
    reference_key: str = ""
    #: Of a pair that an evaluation made: the partner's words and its span in the note.
    reference_mention: str = ""
    reference_span: tuple[int, int] | None = None
    paired: bool = False
    evidence: tuple[Tick, ...] = ()

    @property
    def shift(self) -> float | None:
        """Hours from the text-only time to this one, if revision changed it."""
        if not self.revised or self.time is None or self.text_time is None:
            return None
        return self.time - self.text_time


def payload(
    items: Sequence[Item], anchor: Anchor, discharge: float | None, kind: str
) -> dict[str, Any]:
    """Everything the page's scripts need, ready for JSON."""
    axis = build_axis(_all_times(items), discharge)
    clock = Clock(anchor.at, discharge)
    laid = lanes(
        [
            Mark(i.key, i.lane, i.time, i.text_time if i.revised else None, i.reference_time)
            for i in items
        ],
        axis,
    )
    index = {rows.lane: position for position, rows in enumerate(laid)}
    return {
        "kind": kind,
        "pairs": sum(i.paired for i in items),
        "zero": ZERO,
        "ticks": [[round(t.position, 5), t.words, t.rank] for t in axis.ticks()],
        "discharge": None if discharge is None else _place(axis, discharge),
        "dischargeWords": "" if discharge is None else clock.read(discharge).day,
        "lanes": [
            {"label": LANE_WORDS[r.lane], "count": r.count, "unplaced": r.unplaced, "rows": r.rows}
            for r in laid
        ],
        "density": density(
            (axis.position(i.time) for i in items if i.time is not None), DENSITY_BINS
        ),
        "items": [_item(i, clock, axis, laid, index) for i in items],
    }


def _item(
    item: Item, clock: Clock, axis: Axis, laid: Sequence[LaneRows], index: dict[Lane, int]
) -> dict[str, Any]:
    lane = index[item.lane]
    found: dict[str, Any] = {
        "u": item.key,
        "n": item.number,
        "m": item.mention,
        "l": lane,
        "s": item.status.value,
        "w": hours_words(item.time),
        "p": item.start,
    }
    if item.absent:
        found["a"] = 1
    if item.time is not None:
        found |= {
            "t": round(item.time, 3),
            "c": clock.read(item.time).day,
            "x": _place(axis, item.time),
            "r": laid[lane].row_of[item.key],
        }
    if bounds := clock.bounds(item.lower, item.upper):
        found["b"] = bounds.day
        found["lo"] = 0.0 if item.lower is None else _place(axis, item.lower)
        found["hi"] = 1.0 if item.upper is None else _place(axis, item.upper)
    if item.revised:
        found |= _revision(item, clock, axis)
    if item.reference_time is not None:
        found |= {
            "rt": round(item.reference_time, 3),
            "rx": _place(axis, item.reference_time),
            "rw": clock.read(item.reference_time).day,
        }
    if item.reference_key:
        found["ru"] = item.reference_key
    if item.paired:
        found |= {
            "pm": item.reference_mention,
            "ps": item.reference_span,
            "pw": clock.read(item.reference_time).day,
        }
    if item.evidence:
        found["e"] = [[_place(axis, tick.hours), int(tick.adopted)] for tick in item.evidence]
    return found


def _revision(item: Item, clock: Clock, axis: Axis) -> dict[str, Any]:
    found: dict[str, Any] = {"tw": clock.read(item.text_time).day}
    if item.text_time is not None:
        found |= {"tt": round(item.text_time, 3), "tx": _place(axis, item.text_time)}
    far = differs(item.text_time, item.time)
    if far or item.shift:
        found["sw"] = shift_words(item.text_time, item.time, cited=item.status is Status.MOVED)
    if item.shift:
        found["d"] = round(item.shift, 3)
        if far:
            found["f"] = 1
    return found


def _all_times(items: Sequence[Item]) -> list[float]:
    return [h for i in items for h in (i.time, i.text_time, i.reference_time) if h is not None]


def _place(axis: Axis, hours: float) -> float:
    return round(axis.position(hours), 5)
