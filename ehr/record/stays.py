"""One stay with its notes, series and rows as plain values, in hours.

For programs; pages have lines in words (`ehr.record.page`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from ehr.models import Encounter, EventSeries, Note, SourceRow
from ehr.record.charts import list_notes
from ehr.record.clock import clock_of


@dataclass(frozen=True)
class NumberedNote:
    """A note with its place among those of its stay, from 1."""

    number: int
    note: Note
    hours: float | None

    @property
    def characters(self) -> int:
        """Return the number of code points."""
        return len(self.note.text)


def count_parts(encounter: Encounter) -> Encounter:
    """Return the encounter with the numbers of its notes and series."""
    counted = Encounter.objects.select_related("dataset__study").annotate(
        note_count=Count("notes", filter=Q(notes__composed=False), distinct=True),
        series_count=Count("series", distinct=True),
    )
    return counted.get(pk=encounter.pk)


def number_notes(encounter: Encounter) -> list[NumberedNote]:
    """Return the notes of a stay in order of time."""
    return [
        NumberedNote(number, note, find_hours(encounter, note.charted_at))
        for number, note in enumerate(list_notes(encounter), start=1)
    ]


def find_rows(
    encounter: Encounter, series: EventSeries | None, *, untimed: bool
) -> QuerySet[SourceRow]:
    """Return the rows of a stay, of one series, or those without a time.

    Both keys, so that one partition alone is read.
    """
    rows = SourceRow.objects.filter(dataset_id=encounter.dataset_id, encounter_id=encounter.pk)
    if series is not None:
        rows = rows.filter(event=series.event, time__isnull=False)
    return rows.filter(time__isnull=True) if untimed else rows


def find_hours(encounter: Encounter, time: datetime | None) -> float | None:
    """Return hours from admission; None for no time."""
    return None if time is None else clock_of(encounter).hours(time)
