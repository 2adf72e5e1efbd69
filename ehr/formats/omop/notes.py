"""Notes of the CDM: text, kind and the time at which each was written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ehr.formats.base import NoteRecord, Rejection, has_words, safe_name
from ehr.formats.columns import NO_ID, first_present, parse_ids
from ehr.formats.limits import Limits
from ehr.formats.note_files import make_kind
from ehr.formats.omop.concepts import Concepts
from ehr.formats.omop.files import clean_columns, read_blocks
from ehr.formats.omop.rows import assign_visits
from ehr.formats.omop.tables import NOTE_OPTIONAL, NOTE_REQUIRED
from ehr.formats.omop.times import read_times
from ehr.formats.omop.visits import Visits
from ehr.formats.stream import NoteBlock


def read_notes(
    path: Path, visits: Visits, concepts: Concepts, limits: Limits
) -> Iterator[NoteBlock]:
    """Yield the notes of the stays. Raises WrongFile.

    A note without a visit is rejected: many notes are written after the stay.
    """
    name = safe_name(path)
    for block in read_blocks(path, NOTE_REQUIRED, NOTE_OPTIONAL, limits):
        columns = clean_columns(block)
        places, found = assign_visits(block, columns, visits, name)
        rejections = [*block.rejections, *found]
        ours = np.isin(parse_ids(columns["person_id"]), visits.persons)
        rejections += [
            Rejection(name, "the note names no visit", block.line(i), "visit_occurrence_id")
            for i in np.flatnonzero((places == NO_ID) & ours).tolist()
        ]
        times, wrong, _ = read_times(columns, "note")
        kinds = first_present(
            columns["note_title"],
            concepts.name(columns["note_class_concept_id"]),
            columns["note_source_value"],
        )
        notes = []
        for i in np.flatnonzero(places >= 0).tolist():
            text, place = block.columns["note_text"][i].as_py(), int(places[i])
            fault = _find_fault(text, limits)
            if wrong[i].as_py() or not times[i].is_valid:
                fault = fault or ("note_date", "not a date and time")
            if fault:
                case_id = visits.encounters[place].case_id
                rejections.append(
                    Rejection(name, fault[1], block.line(i), fault[0], case_id=case_id)
                )
            else:
                note = NoteRecord(text, times[i].as_py(), make_kind(kinds[i].as_py()))
                notes.append((place, block.line(i), note))
        yield NoteBlock(tuple(notes), block.offered, tuple(rejections))


def _find_fault(text: str, limits: Limits) -> tuple[str, str] | None:
    """Return (field, reason) for a text that cannot be stored."""
    if not has_words(text):
        return "note_text", "the note is empty"
    if len(text.encode()) > limits.note_bytes:
        reason = f"the note has more than {limits.note_bytes:,} bytes (IMPORT_NOTE_BYTES)"
        return "note_text", reason
    return None
