"""The notes of MIMIC-IV.

They are discharge summaries, radiology reports, and files with the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.base import NoteRecord, Rejection, has_words, safe_name
from ehr.formats.columns import NO_ID, clock_times, parse_ids
from ehr.formats.delimited import TextBlock, header_names, read_csv_blocks
from ehr.formats.limits import Limits
from ehr.formats.mimic_iv.rows import Columns, Stays, is_empty
from ehr.formats.note_files import DISCHARGE_SUMMARY, make_kind
from ehr.formats.stream import Ints, NoteBlock

FOLDER = "note"
SUFFIXES = (".csv.gz", ".csv")
DISCHARGE, RADIOLOGY = f"{FOLDER}/discharge", f"{FOLDER}/radiology"
KINDS = {DISCHARGE: DISCHARGE_SUMMARY, RADIOLOGY: "radiology report"}
COLUMNS = ("subject_id", "hadm_id", "charttime", "text")


@dataclass(frozen=True, slots=True)
class NoteTable:
    """One file of notes.

    `by_time`: a note without an admission belongs to the stay at its time. A report is dated when
    the examination was made; many other notes are written after the stay.
    """

    name: str
    kind: str
    by_time: bool = False


def find_note_tables(root: Path) -> list[NoteTable]:
    """Return the files of `note/` that have notes, by name."""
    names = {*KINDS, *(name for name, path in _list_tables(root / FOLDER) if _has_notes(path))}
    return [
        NoteTable(name, KINDS.get(name) or make_kind(name.rpartition("/")[2]), name == RADIOLOGY)
        for name in sorted(names)
    ]


def read_notes(path: Path, table: NoteTable, stays: Stays, limits: Limits) -> Iterator[NoteBlock]:
    """Yield the notes of the encounters. Raises WrongFile."""
    for block in read_csv_blocks(path, table.name, COLUMNS, limits=limits):
        columns = {c: pc.utf8_trim_whitespace(block.columns[c]) for c in COLUMNS[:-1]}
        times, wrong = clock_times(columns["charttime"])
        places, rejections = _find_places(block, columns, times, table, stays)
        notes = []
        for i in np.flatnonzero(places >= 0).tolist():
            text, place = block.columns["text"][i].as_py(), int(places[i])
            if fault := _find_fault(text, wrong[i].as_py(), limits):
                case_id = stays.case_id(place)
                rejections.append(
                    Rejection(table.name, fault[1], block.line(i), fault[0], case_id=case_id)
                )
            else:
                notes.append((place, block.line(i), NoteRecord(text, times[i].as_py(), table.kind)))
        yield NoteBlock(tuple(notes), block.offered, tuple(rejections))


def _find_places(
    block: TextBlock, columns: Columns, times: pa.ChunkedArray, table: NoteTable, stays: Stays
) -> tuple[Ints, list[Rejection]]:
    """Return (encounter of each note, rejections of the notes of no one)."""
    places, rejections = stays.places(block, columns, table.name)
    subjects = parse_ids(columns["subject_id"])
    unnamed = (places == NO_ID) & is_empty(columns, "hadm_id") & stays.is_imported(subjects)
    if table.by_time:
        moments = times.cast(pa.int64())
        timed = unnamed & pc.is_valid(moments).to_numpy()
        found = stays.find_by_time(subjects, pc.fill_null(moments, 0).to_numpy(), days=False)
        places = np.where(timed, found, places)
        unnamed &= ~timed
    reason = "the note names no admission"
    rejections = [*block.rejections, *rejections]
    rejections += [
        Rejection(table.name, reason, block.line(i), "hadm_id")
        for i in np.flatnonzero(unnamed).tolist()
    ]
    return places, rejections


def _find_fault(text: str, wrong_time: bool, limits: Limits) -> tuple[str, str] | None:
    """Return (field, reason), None for a note that can be stored."""
    if "\x00" in text:
        return "text", "the note has a NUL character"
    if not has_words(text):
        return "text", "the note is empty"
    if len(text.encode()) > limits.note_bytes:
        reason = f"the note has more than {limits.note_bytes:,} bytes (IMPORT_NOTE_BYTES)"
        return "text", reason
    return ("charttime", "not a date and time") if wrong_time else None


def _list_tables(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (name without suffix, path) of each table of a folder."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        suffix = next((s for s in SUFFIXES if path.name.endswith(s)), "")
        if suffix and not path.name.startswith("."):
            yield f"{folder.name}/{path.name.removesuffix(suffix)}", path


def _has_notes(path: Path) -> bool:
    return path.is_file() and set(COLUMNS) <= set(header_names(path))


def find_unread(root: Path, read: set[str]) -> Iterator[str]:
    """Yield the tables of the published layout that nothing reads."""
    for name in ("hosp", "icu", FOLDER):
        for table, path in _list_tables(root / name):
            if table not in read:
                yield f"{name}/{safe_name(path)}"
