"""One stay as it was known at an hour."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from accounts.models import User
from cohorts.asof.documenting import FirstDocumented, find_documented
from cohorts.asof.note_links import link_note
from cohorts.asof.states import State, Times, state_at
from cohorts.facts.choosing import find_timelines
from cohorts.facts.loading import find_not_happened
from cohorts.models import Documented
from cohorts.values import Source
from ehr.models import Encounter, SourceRow
from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import event_words
from ehr.record.clock import clock_of
from timelines.access.authoring import hidden_timelines
from timelines.domain import Lane
from timelines.models import Entry, Timeline
from timelines.presentation.segments import Span
from timelines.presentation.wording import LANE_WORDS
from timelines.runs.storage import checked_text

#: The sources that have occurrences.
SOURCES = tuple(source for source in Source if source is not Source.ROWS)


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
    documented_hours: float | None


@dataclass(frozen=True, slots=True)
class CaseAsOf:
    """The stay at an hour. `next_change`: the next hour at which a state changes, if any."""

    at: Moment
    lines: tuple[Line, ...]
    counts: tuple[tuple[State, int], ...]
    note: SafeString | None
    next_change: float | None


def find_timeline(encounter: Encounter, source: Source, person: User) -> Timeline | None:
    """Return the stay's timeline of a source that the person may see, or None."""
    found = find_timelines(encounter.dataset, source, [encounter.pk])
    hidden = hidden_timelines(person, encounter)
    return found.exclude(pk__in=hidden).select_related("inventory__note").first()


def find_end(encounter: Encounter) -> int:
    """Return the last hour of the slider: discharge, at least a day."""
    discharge = clock_of(encounter).discharge
    return max(24, math.ceil(discharge or 0))


def load_case(encounter: Encounter, timeline: Timeline, hour: float) -> CaseAsOf:
    """Return the stay by this timeline at an hour. Raises NoteChanged."""
    clock = clock_of(encounter)
    entries = list(
        timeline.entries.exclude(pk__in=find_not_happened([timeline.pk]))
        .select_related("occurrence")
        .order_by("occurrence__ordinal", "pk")
    )
    documented = find_documented([timeline.pk])
    rows = _load_rows(encounter, documented.values())
    lines = [_line(encounter, clock, e, documented[e.pk], rows, hour) for e in entries]
    counts = Counter(line.state for line in lines)
    return CaseAsOf(
        clock.read(hour),
        tuple(sorted(lines, key=lambda line: (line.hours is None, line.hours or 0.0))),
        tuple((state, counts[state]) for state in State),
        _note(timeline, entries, lines),
        _find_next_change(entries, documented, hour),
    )


def _times(entry: Entry, first: FirstDocumented) -> Times:
    return Times(entry.time, entry.lower, entry.upper, first.hours, first.noted)


def _find_next_change(
    entries: Sequence[Entry], documented: Mapping[int, FirstDocumented], hour: float
) -> float | None:
    times = [_times(entry, documented[entry.pk]) for entry in entries]
    hours = {h for t in times for h in (*t.bounds, t.documented) if h is not None and h > hour}
    return min((h for h in hours if math.isfinite(h)), default=None)


def _load_rows(
    encounter: Encounter, documented: Iterable[FirstDocumented]
) -> dict[int, str]:
    """Return the event of each row that documented something."""
    indices = {one.row_index for one in documented if one.row_index is not None}
    rows = SourceRow.objects.filter(
        dataset=encounter.dataset_id, encounter=encounter, row_index__in=indices
    )
    return dict(rows.values_list("row_index", "event"))


def _line(
    encounter: Encounter,
    clock: Clock,
    entry: Entry,
    first: FirstDocumented,
    rows: Mapping[int, str],
    hour: float,
) -> Line:
    event = rows.get(first.row_index, "") if first.row_index is not None else ""
    case = encounter.public_id
    found = entry.occurrence
    record = reverse("ehr:record", args=[case])
    return Line(
        mention=found.mention if found else entry.event,
        lane=LANE_WORDS[Lane(found.lane)] if found else "",
        address=reverse("timelines:occurrence", args=[case, found.uid4]) if found else "",
        state=state_at(_times(entry, first), hour),
        when=clock.read(entry.time),
        bounds=clock.bounds(entry.lower, entry.upper),
        documented=None if first.hours is None else clock.read(first.hours),
        by=Documented.By(first.by).label if first.by else "no time of documentation is known",
        row=event_words(event) if event else "",
        row_address=f"{record}?row={first.row_index}" if event else "",
        hours=entry.time,
        documented_hours=first.hours,
    )


def _note(
    timeline: Timeline, entries: Sequence[Entry], lines: Sequence[Line]
) -> SafeString | None:
    if timeline.inventory is None:
        return None
    spans, states, addresses = [], {}, {}
    for entry, line in zip(entries, lines, strict=True):
        found = entry.occurrence
        if found is None or found.start is None or found.end is None:
            continue
        spans.append(Span(found.uid4, found.start, found.end))
        states[found.uid4], addresses[found.uid4] = line.state, line.address
    html = link_note(checked_text(timeline.inventory.note), spans, states, addresses)
    return mark_safe(html)  # link_note escapes every character of the note
