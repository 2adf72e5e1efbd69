"""The data that the case page's scripts draw.

Every occurrence of a timeline, with its words, its place on the plot and what it is compared with.

No Django here. Positions are shares of the width (`timelines.presentation.axis`); words come from
`wording`, so scripts compute neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import hours_words
from timelines.backbones.rules.querying.vocabulary import Hit
from timelines.domain import Anchor, Lane, differs
from timelines.pipeline.values import find_numbers
from timelines.presentation.axis import StayAxis, draw_bands, draw_ticks
from timelines.presentation.lanes.classes import group_by_class
from timelines.presentation.lanes.kinds import ShownLane, is_given, shown_lane
from timelines.presentation.lanes.subjects import find_subject
from timelines.presentation.lanes.words import short_words, words_beside
from timelines.presentation.plots import density
from timelines.presentation.status import Status
from timelines.presentation.wording import shift_words

DENSITY_BINS = 120
LANE_INDEX = {lane: index for index, lane in enumerate(ShownLane)}


@dataclass(frozen=True, slots=True)
class Tick:
    """A row of evidence under an occurrence, hours from admission.

    `event` is its name in the record.
    """

    hours: float
    adopted: bool
    event: str = ""


@dataclass(frozen=True, slots=True)
class ShownNote:
    """A note of a chart: its kind, and when it was written if known."""

    kind: str
    written: Moment | None


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
    #: The place of its note in the chart, and those of linked occurrences with the same time.
    note: int | None = None
    also: tuple[int, ...] = ()
    #: The key of the first of these occurrences, which is drawn for all; "" if it is this one.
    head: str = ""

    @property
    def shift(self) -> float | None:
        """Hours from the text-only time to this one, if revision changed it."""
        if not self.revised or self.time is None or self.text_time is None:
            return None
        return self.time - self.text_time

    @property
    def cited_events(self) -> set[str]:
        """Return the names of the events whose rows its time cites."""
        return {tick.event for tick in self.evidence if tick.adopted}

    @property
    def subject(self) -> Hit | None:
        """Return what the occurrence is about, if the vocabulary knows it."""
        return find_subject(self.mention, self._read_lane)

    @property
    def shown_lane(self) -> ShownLane:
        """Return the lane of the case page that it is drawn on."""
        hit = self.subject
        return shown_lane(
            self._read_lane,
            hit.concept if hit else None,
            measured=bool(hit and not hit.implied and find_numbers(self.mention)),
            cited=self.cited_events,
        )

    @property
    def _read_lane(self) -> Lane:
        """Return the note's lane, or medications.

        The latter if mention and evidence both say a drug.
        """
        given = is_given(self.lane, self.cited_events)
        drug = given and find_subject(self.mention, Lane.MEDICATION)
        return Lane.MEDICATION if drug else self.lane


def build_axis(items: Sequence[Item], discharge: float | None) -> StayAxis:
    """Return the axis of the case page for these occurrences."""
    return StayAxis.covering(_all_times(items), discharge)


def payload(
    items: Sequence[Item],
    anchor: Anchor,
    discharge: float | None,
    notes: Sequence[ShownNote] = (),
) -> dict[str, Any]:
    """Everything the page's scripts need, ready for JSON.

    `notes` are those of a chart.
    """
    axis = build_axis(items, discharge)
    clock = Clock(anchor.at, discharge)
    lanes = {item.key: item.shown_lane for item in items}
    drawn = [item for item in items if not item.head]
    return {
        **({"notes": [_note(note) for note in notes]} if notes else {}),
        "pairs": sum(i.paired for i in items),
        "zero": round(axis.admission, 5),
        "ticks": {"day": draw_ticks(axis.ticks(anchor)), "hours": draw_ticks(axis.hour_ticks())},
        "days": {"day": draw_bands(axis.days(anchor)), "hours": draw_bands(axis.hour_days())},
        "nights": draw_bands(axis.nights(anchor)),
        "past": axis.past > 0,
        "future": axis.future > 0,
        "discharge": None if discharge is None else _place(axis, discharge),
        "lanes": [_lane(lane, [i for i in drawn if lanes[i.key] is lane]) for lane in ShownLane],
        "classes": group_by_class(
            (i.key, i.subject.concept.name)
            for i in items
            if i.subject and lanes[i.key] is ShownLane.MEDICATION
        ),
        "density": density(
            (axis.position(i.time) for i in drawn if i.time is not None), DENSITY_BINS
        ),
        "items": [_item(i, clock, axis, LANE_INDEX[lanes[i.key]]) for i in items],
    }


def both_ways(moment: Moment) -> list[str]:
    """Return a time as day and clock, and as hours.

    Scripts show the one that the reader chose.
    """
    return [moment.day, moment.hours or moment.day]


def _note(note: ShownNote) -> dict[str, Any]:
    return {"k": note.kind, "w": both_ways(note.written) if note.written else None}


def _lane(lane: ShownLane, items: Sequence[Item]) -> dict[str, Any]:
    return {
        "key": lane.value,
        "label": lane.label,
        "count": len(items),
        "unplaced": sum(i.time is None for i in items),
    }


def _item(item: Item, clock: Clock, axis: StayAxis, lane: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "u": item.key,
        "n": item.number,
        "m": item.mention,
        "h": short_words(item.mention),
        "l": lane,
        "s": item.status.value,
        "w": hours_words(item.time),
        "p": item.start,
    }
    if item.subject is not None:
        found["k"] = item.subject.concept.name
        beside = words_beside(item.mention, item.subject)
        if beside:
            found["g"] = beside
    if item.absent:
        found["a"] = 1
    if item.note is not None:
        found["nt"] = item.note
    if item.also:
        found["nl"] = list(item.also)
    if item.head:
        found["hd"] = item.head
    if item.time is not None:
        found |= {
            "t": round(item.time, 3),
            "c": clock.read(item.time).day,
            "x": _place(axis, item.time),
        }
    if bounds := clock.bounds(item.lower, item.upper):
        found["b"] = both_ways(bounds)
        found["lo"] = 0.0 if item.lower is None else _place(axis, item.lower)
        found["hi"] = 1.0 if item.upper is None else _place(axis, item.upper)
    if item.revised:
        found |= _revision(item, clock, axis)
    if item.reference_time is not None:
        found |= {
            "rt": round(item.reference_time, 3),
            "rx": _place(axis, item.reference_time),
            "rw": both_ways(clock.read(item.reference_time)),
        }
    if item.reference_key:
        found["ru"] = item.reference_key
    if item.paired:
        found |= {
            "pm": item.reference_mention,
            "ps": item.reference_span,
            "pw": both_ways(clock.read(item.reference_time)),
        }
    if item.evidence:
        found["e"] = [[_place(axis, tick.hours), int(tick.adopted)] for tick in item.evidence]
    return found


def _revision(item: Item, clock: Clock, axis: StayAxis) -> dict[str, Any]:
    found: dict[str, Any] = {"tw": both_ways(clock.read(item.text_time))}
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


def _place(axis: StayAxis, hours: float) -> float:
    return round(axis.position(hours), 5)
