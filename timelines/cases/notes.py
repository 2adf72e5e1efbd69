"""The notes of a stay as the case page lists them.

A timeline is over one note or over a chart of several; the other notes can be read beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ehr.models import Encounter
from ehr.presentation.clock import Moment
from ehr.record.charts import sort_notes
from ehr.record.clock import clock_of
from timelines.cases.choices import Choice
from timelines.models import Inventory


@dataclass(frozen=True)
class NoteLink:
    """One note: its place among those of the stay, from 1, and its kind.

    `written` is None if nobody says when. `start` is where the shown text has it; None if the timeline does not read it.
    """

    place: int
    kind: str
    written: Moment | None
    start: int | None


def load_note_links(encounter: Encounter, choice: Choice) -> tuple[NoteLink, ...]:
    """Return the notes in order of time; none for a stay with one note."""
    notes = sort_notes(encounter.notes.filter(composed=False).defer("text"))
    if len(notes) < 2:
        return ()
    shown = (
        Inventory.objects.select_related("note").get(pk=choice.inventory_id).note
        if choice.inventory_id
        else None
    )
    starts = {} if shown is None else dict(shown.parts.values_list("note_id", "start"))
    if shown is not None and not shown.composed:
        starts = {shown.pk: 0}
    clock = clock_of(encounter)
    return tuple(
        NoteLink(
            place,
            note.kind[:1].upper() + note.kind[1:],
            clock.read(clock.hours(note.charted_at)) if note.charted_at else None,
            starts.get(note.pk),
        )
        for place, note in enumerate(notes, start=1)
    )
