"""Occurrences in words: happened, documented, and known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from cohorts.asof.documenting import FirstDocumented, find_documented
from cohorts.asof.states import State, Times, state_at
from cohorts.models import Documented
from ehr.models import Encounter, SourceRow
from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import event_words
from ehr.record.clock import clock_of
from timelines.cases.listing import title_line
from timelines.domain import Lane
from timelines.models import Entry
from timelines.presentation.sentence import Sentence, find_sentence
from timelines.presentation.wording import LANE_WORDS


@dataclass(frozen=True, slots=True)
class Line:
    """An occurrence in words."""

    mention: str
    lane: str
    address: str
    state: State
    when: Moment
    bounds: Moment | None
    documented: Moment | None
    #: How it was documented, and the address of the row.
    by: str
    row: str
    row_address: str
    hours: float | None
    lower: float | None
    upper: float | None
    documented_hours: float | None
    uid4: str
    row_index: int | None


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """An occurrence of one of several stays, with its sentence."""

    line: Line
    encounter: Encounter
    title: str
    at: Moment
    hour: float
    sentence: Sentence | None


def times_of(entry: Entry, first: FirstDocumented) -> Times:
    """Return the times of an entry."""
    return Times(entry.time, entry.lower, entry.upper, first.hours, first.noted)


def load_events(encounter: Encounter, documented: Iterable[FirstDocumented]) -> dict[int, str]:
    """Return the event of each row that documented something in a stay."""
    indices = {one.row_index for one in documented if one.row_index is not None}
    rows = SourceRow.objects.filter(
        dataset=encounter.dataset_id, encounter=encounter, row_index__in=indices
    )
    return dict(rows.values_list("row_index", "event"))


def describe(
    encounter: Encounter,
    clock: Clock,
    entry: Entry,
    first: FirstDocumented,
    events: Mapping[int, str],
    hour: float,
) -> Line:
    """Return an entry in words, as of an hour."""
    event = "" if first.row_index is None else events.get(first.row_index, "")
    case, found = encounter.public_id, entry.occurrence
    record = reverse("ehr:record", args=[case])
    return Line(
        mention=found.mention if found else entry.event,
        lane=LANE_WORDS[Lane(found.lane)] if found else "",
        address=reverse("timelines:occurrence", args=[case, found.uid4]) if found else "",
        state=state_at(times_of(entry, first), hour),
        when=clock.read(entry.time),
        bounds=clock.bounds(entry.lower, entry.upper),
        documented=None if first.hours is None else clock.read(first.hours),
        by=Documented.By(first.by).label if first.by else "no time of documentation is known",
        row=event_words(event) if event else "",
        row_address=f"{record}?row={first.row_index}" if event else "",
        hours=entry.time,
        lower=entry.lower,
        upper=entry.upper,
        documented_hours=first.hours,
        uid4=found.uid4 if found else "",
        row_index=first.row_index,
    )


def describe_placed(places: Sequence[tuple[int, float]]) -> dict[tuple[int, float], PlacedLine]:
    """Return (entry, hour) → the entry in words.

    Entries that were deleted are left out.
    """
    entries = {
        entry.pk: entry
        for entry in Entry.objects.filter(pk__in={pk for pk, _ in places}).select_related(
            "occurrence", "timeline__encounter__dataset", "timeline__inventory__note"
        )
    }
    documented = find_documented(sorted({entry.timeline_id for entry in entries.values()}))
    by_stay: dict[Encounter, list[FirstDocumented]] = defaultdict(list)
    for entry in entries.values():
        by_stay[entry.timeline.encounter].append(documented[entry.pk])
    events = {stay.pk: load_events(stay, found) for stay, found in by_stay.items()}
    return {
        (pk, hour): _place(entries[pk], documented[pk], events, hour)
        for pk, hour in places
        if pk in entries
    }


def _place(
    entry: Entry, first: FirstDocumented, events: Mapping[int, Mapping[int, str]], hour: float
) -> PlacedLine:
    encounter = entry.timeline.encounter
    clock = clock_of(encounter)
    line = describe(encounter, clock, entry, first, events[encounter.pk], hour)
    found, inventory = entry.occurrence, entry.timeline.inventory
    sentence = None
    if found and inventory and found.start is not None and found.end is not None:
        sentence = find_sentence(inventory.note.text, found.start, found.end)
    return PlacedLine(line, encounter, title_line(encounter), clock.read(hour), hour, sentence)
