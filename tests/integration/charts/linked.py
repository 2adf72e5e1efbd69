"""A chart whose notes report the same events, and what tests ask of it."""

from __future__ import annotations

from datetime import timedelta

from ehr.models import Encounter, Note, NotePart
from tests import factories
from tests.worlds.reconstructed import run_inline
from timelines.domain import TimelineKind
from timelines.models import (
    Entry,
    OccurrenceLink,
    Timeline,
)
from timelines.pipeline.config import PipelineConfig

NOTES = (
    ("admission note", 2.0, "HPI: two days of cough.\n\nExam: temperature 38.9.\n"),
    (
        "progress note",
        20.0,
        "This morning WBC 15.2. Vancomycin was started. Chest CT was done at 08:00.\n",
    ),
    (
        "discharge summary",
        95.0,
        "HISTORY OF PRESENT ILLNESS:\n64 year old man with two days of cough.\n\n"
        "HOSPITAL COURSE:\nVancomycin was started on hospital day 1. On hospital day 2 WBC was"
        " 15.2 and a chest CT was done. Vancomycin was stopped on hospital day 3.\n",
    ),
)


def make_chart(notes) -> Encounter:
    """Return a stay with notes, as (kind, hours from admission, text)."""
    encounter = factories.make_encounter()
    for kind, hours, text in notes:
        note = factories.make_note(encounter, text)
        written = encounter.admitted_at + timedelta(hours=hours)
        Note.objects.filter(pk=note.pk).update(kind=kind, charted_at=written)
    return encounter


def run(encounter, notes: str = "all") -> Timeline:
    made = run_inline(encounter.dataset, config=PipelineConfig(notes=notes))
    return Timeline.objects.get(case_run__run=made, kind=TimelineKind.REVISED, alternative=1)


def words(timeline):
    """The entries of a timeline by note and mention."""
    found = Entry.objects.filter(timeline=timeline).select_related("occurrence", "own")
    parts = list(NotePart.objects.filter(chart=timeline.inventory.note).select_related("note"))
    made = {}
    for entry in found.order_by("occurrence__ordinal"):
        o = entry.occurrence
        (note,) = (p.note.kind for p in parts if p.start <= o.start < p.end)
        made[f"{note.split()[0]}: {o.mention}"] = entry
    return made


WBC = (
    "progress: white blood cell count 15.2, this morning",
    "discharge: on hospital day 2 white blood cell count was 15.2",
)
STARTED = (
    "progress: vancomycin was started",
    "discharge: vancomycin was started on hospital day 1",
)
WARM = "admission: temperature 38.9 (exam)"
STOPPED = "discharge: vancomycin was stopped on hospital day 3"


def find_link(pair: tuple[str, str]) -> OccurrenceLink:
    second = pair[1].partition(": ")[2]
    return OccurrenceLink.objects.filter(second__mention=second).latest("pk")
