"""Several notes of a stay as one text, in order of time: the chart.

A run that reads more than one note reads the chart. It is a note itself (`Note.composed`), so that
spans, checksums and identifiers work as in any other, and its parts say which characters are whose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Case, F, When

from ehr.models import Encounter, Note, NotePart

DISCHARGE_SUMMARY = "discharge summary"
#: The kind of a composed note.
CHART = "chart"

#: The order in which the note of a stay is the first.
SUMMARY_FIRST = (
    Case(When(kind=DISCHARGE_SUMMARY, then=0), default=1),
    F("charted_at").asc(nulls_first=True),
    F("pk"),
)


def find_note(encounter: Encounter) -> Note | None:
    """Return the note of the stay: its discharge summary, else the first."""
    return encounter.notes.filter(composed=False).order_by(*SUMMARY_FIRST).first()


def list_notes(encounter: Encounter) -> list[Note]:
    """Return the imported notes of the stay in order of time."""
    return sort_notes(encounter.notes.filter(composed=False))


def sort_notes(notes: Iterable[Note]) -> list[Note]:
    """Return notes by when they were written.

    A discharge summary without a time is the last; other notes without one come first.
    """

    def place(note: Note) -> tuple[int, datetime, int]:
        if note.charted_at is not None:
            return (1, note.charted_at, note.pk)
        return (2 if note.kind == DISCHARGE_SUMMARY else 0, datetime.min, note.pk)

    return sorted(notes, key=place)


def find_text(encounter: Encounter, kinds: Collection[str] | None) -> Note | None:
    """Return the text that a run reads: the notes of these kinds.

    One note is read as it is; several are composed into a chart, which is stored once. None: all
    kinds. The discharge summary alone is `find_note`. Returns None if the stay has no such note.
    """
    if kinds == {DISCHARGE_SUMMARY}:
        return find_note(encounter)
    notes = [n for n in list_notes(encounter) if kinds is None or n.kind in kinds]
    if len(notes) < 2:
        return notes[0] if notes else None
    text, places = compose(notes)
    digest = Note.digest(text)
    with transaction.atomic():
        chart, new = Note.objects.get_or_create(
            encounter=encounter,
            sha256=digest,
            defaults={"kind": CHART, "text": text, "composed": True},
        )
        if new:
            NotePart.objects.bulk_create(
                NotePart(chart=chart, note=note, start=start, end=end)
                for note, (start, end) in zip(notes, places, strict=True)
            )
    return chart


def compose(notes: Sequence[Note]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of a chart and where in it each note is.

    Every note keeps its characters; a line with its kind and time is above it.
    """
    text, places = "", []
    for note in notes:
        text += ("\n\n" if text else "") + f"=== {describe_note(note)} ===\n\n"
        places.append((len(text), len(text) + len(note.text)))
        text += note.text
    return text, places


def describe_note(note: Note) -> str:
    """Return "Progress note, written 2180-03-05 07:30"."""
    kind = note.kind[:1].upper() + note.kind[1:]
    written = f", written {note.charted_at:%Y-%m-%d %H:%M}" if note.charted_at else ""
    return f"{kind}{written}"
