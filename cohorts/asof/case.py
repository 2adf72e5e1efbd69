"""One stay as it was known at an hour."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from accounts.models import User
from cohorts.asof.documenting import FirstDocumented, find_documented
from cohorts.asof.lines import Line, describe, load_events, times_of
from cohorts.asof.note_links import link_note
from cohorts.asof.states import State
from cohorts.facts.choosing import find_timelines
from cohorts.facts.loading import find_not_happened
from cohorts.values import Source
from ehr.models import Encounter
from ehr.presentation.clock import Moment
from ehr.record.clock import clock_of
from timelines.access.authoring import hidden_timelines
from timelines.models import Entry, Timeline
from timelines.presentation.segments import Span
from timelines.runs.storage import checked_text

#: The sources that have occurrences.
SOURCES = tuple(source for source in Source if source is not Source.ROWS)


@dataclass(frozen=True, slots=True)
class CaseAsOf:
    """The stay at an hour.

    `next_change`: the next hour at which a state changes, if any.
    """

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


def load_known(timeline: Timeline) -> dict[str, list[float | None]]:
    """Return [earliest, latest, documented] of each occurrence that happened, by UID.

    An open bound and a missing time of documentation are None.
    """
    entries = timeline.entries.exclude(pk__in=find_not_happened([timeline.pk]))
    documented = find_documented([timeline.pk])
    known = {}
    for entry in entries.exclude(occurrence=None).select_related("occurrence"):
        times = times_of(entry, documented[entry.pk])
        ends = [h if math.isfinite(h) else None for h in times.bounds]
        assert entry.occurrence is not None  # excluded above
        known[entry.occurrence.uid4] = [*ends, times.documented]
    return known


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
    rows = load_events(encounter, documented.values())
    lines = [describe(encounter, clock, e, documented[e.pk], rows, hour) for e in entries]
    counts = Counter(line.state for line in lines)
    return CaseAsOf(
        clock.read(hour),
        tuple(sorted(lines, key=lambda line: (line.hours is None, line.hours or 0.0))),
        tuple((state, counts[state]) for state in State),
        _note(timeline, entries, lines),
        _find_next_change(entries, documented, hour),
    )


def _find_next_change(
    entries: Sequence[Entry], documented: Mapping[int, FirstDocumented], hour: float
) -> float | None:
    times = [times_of(entry, documented[entry.pk]) for entry in entries]
    hours = {h for t in times for h in (*t.bounds, t.documented) if h is not None and h > hour}
    found = min((h for h in hours if math.isfinite(h)), default=None)
    # Rounded up, so that the address of the next change is not before it.
    return None if found is None else math.ceil(found * 1e4) / 1e4


def _note(timeline: Timeline, entries: Sequence[Entry], lines: Sequence[Line]) -> SafeString | None:
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
