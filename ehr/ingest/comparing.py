"""Compare every stay that is brought with what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ehr.formats.base import EncounterRecord, Rejection, WrongFile, describe_fault
from ehr.formats.stream import NoteBlock, StreamBlock, StreamFile
from ehr.ingest.batches import make_batches
from ehr.ingest.contents import Contents, read_stored
from ehr.ingest.counters import Counters
from ehr.ingest.work import Work, is_same_stay, make_note
from ehr.models import Encounter, Note


@dataclass
class Differences:
    """What is new, unfinished or other than before. The rest is the same."""

    new: list[EncounterRecord] = field(default_factory=list)
    unfinished: list[tuple[Encounter, EncounterRecord]] = field(default_factory=list)
    changed: list[tuple[Encounter, EncounterRecord]] = field(default_factory=list)
    unchanged: int = 0


def compare_stays(work: Work) -> Differences:
    """Read everything once. Raises WrongFile if a file cannot be read."""
    stored = work.find_stored()
    brought, there = _read_files(work), _read_database(work, stored)
    found = Differences()
    for place, record in enumerate(work.listed.encounters):
        old = stored.get(record.case_id)
        if old is None:
            found.new.append(record)
        elif not old.source_sha256:
            found.unfinished.append((old, record))
        elif is_same_stay(old, record) and brought.is_equal(there, place):
            found.unchanged += 1
        else:
            found.changed.append((old, record))
    return found


def _read_files(work: Work) -> Contents:
    """Return what the files say. Raises WrongFile."""
    contents = Contents(len(work.listed.encounters))
    counters = Counters(len(work.listed.encounters), work.limits)
    for file in work.files:
        try:
            if reason := describe_fault(file.path):
                raise WrongFile(Rejection(file.name, reason))
            for block in file.blocks():
                work.steps.report()
                _add(contents, counters, file, block)
        except OSError:
            raise WrongFile(Rejection(file.name, "the file cannot be read")) from None
        work.steps.end(file)
    return contents


def _add(
    contents: Contents, counters: Counters, file: StreamFile, block: StreamBlock | NoteBlock
) -> None:
    """Add what an import would store of a block."""
    if isinstance(block, NoteBlock):
        for place, _, note in block.notes:
            contents.add_note(place, make_note(note))
        return
    rows, places, _ = counters.number(file, block)
    contents.add_rows(rows, places)


def _read_database(work: Work, stored: Mapping[str, Encounter]) -> Contents:
    """Return what is stored of the finished stays among those brought."""
    contents = Contents(len(work.listed.encounters))
    places = {
        stored[e.case_id].pk: place
        for place, e in enumerate(work.listed.encounters)
        if e.case_id in stored and stored[e.case_id].source_sha256
    }
    keys = sorted(places)
    ordered = np.array([places[key] for key in keys], np.int64)
    for ids, _ in make_batches(work.dataset, keys):
        work.steps.report()
        rows, owners = read_stored(work.dataset.pk, ids.tolist())
        contents.add_rows(rows, ordered[np.searchsorted(keys, owners)])
    notes = Note.objects.filter(encounter__dataset=work.dataset, composed=False)
    # The first of equal notes counts, as in an import.
    for note in notes.order_by("pk").defer("text").iterator():
        if note.encounter_id in places:
            contents.add_note(places[note.encounter_id], note)
    return contents
