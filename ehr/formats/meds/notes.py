"""The notes of a MEDS data set.

They are the texts of codes that mean a note (NOTE//DS, or the category `note` of a map of codes),
and a file beside the shards: notes.parquet, notes.csv or notes.csv.gz with the columns subject_id,
time, kind and text, and perhaps hadm_id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.base import (
    NoteRecord,
    Rejection,
    WrongFile,
    describe_fault,
    has_words,
    safe_name,
)
from ehr.formats.columns import clock_times, parse_ids
from ehr.formats.limits import Limits
from ehr.formats.mapping import CodeRule
from ehr.formats.meds.codes import SEPARATOR, find_ruled_meaning
from ehr.formats.meds.stays import FAR, MedsStays
from ehr.formats.note_files import DISCHARGE_SUMMARY, make_kind
from ehr.formats.omop.files import read_blocks
from ehr.formats.stream import Ints, NoteBlock, Windows

CATEGORY = "note"
NOTES = "notes"
FILES = tuple(f"{NOTES}{suffix}" for suffix in (".parquet", ".csv.gz", ".csv"))
REQUIRED, OPTIONAL = ("subject_id", "time", "kind", "text"), ("hadm_id",)
#: Types of notes of MIMIC-IV.
KINDS = {"ds": DISCHARGE_SUMMARY, "rr": "radiology report"}
NO_STAY = "no such stay"
OUTSIDE = "the note is outside of each stay of its subject; name the stay in hadm_id"


def find_kind(code: str, rules: Sequence[CodeRule] = ()) -> str:
    """Return the kind of note that a code means; "" for other codes."""
    ruled = find_ruled_meaning(code, rules)
    event = ruled.event.split(":") if ruled is not None else code.lower().split(SEPARATOR)
    if event[0].strip() != CATEGORY:
        return ""
    return read_kind(event[1] if len(event) > 1 else "")


def read_kind(text: str) -> str:
    """Return the kind as it is stored; a type of MIMIC-IV in words."""
    kind = make_kind(text)
    return KINDS.get(kind, kind)


def find_note_files(root: Path) -> list[Path]:
    """Return the files of notes beside the shards."""
    places = (root / name for name in FILES) if root.is_dir() else ()
    return [path for path in places if path.is_file() or describe_fault(path)]


@dataclass(frozen=True)
class Texts:
    """Notes in columns, with the lines that they are on."""

    subjects: Ints
    times: pa.Array | pa.ChunkedArray
    stays: Sequence[str]
    kinds: Sequence[str]
    texts: Sequence[str]
    lines: Ints


class NotePlaces:
    """Finds the stay of each note: by its admission, else by its time.

    `strict`: a note of no stay is rejected. Otherwise, it may be of a stay that was not chosen.
    """

    def __init__(self, stays: MedsStays, limits: Limits, *, strict: bool) -> None:
        self._stays, self._limits, self._strict = stays, limits, strict
        self._by_id = {e.case_id: i for i, e in enumerate(stays.encounters)}
        self._windows = Windows(stays.subjects, stays.starts, stays.ends)

    def make_block(
        self, notes: Texts, name: str, offered: int, rejections: Sequence[Rejection] = ()
    ) -> NoteBlock:
        """Return the notes of stays, and why others are rejected."""
        moments = pc.fill_null(notes.times.cast(pa.int64()), FAR + 1).to_numpy()
        by_time = self._windows.find(notes.subjects, moments)
        times = notes.times.to_pylist()
        taken: list[tuple[int, int, NoteRecord]] = []
        refused = list(rejections)
        for i, text in enumerate(notes.texts):
            line, stay = int(notes.lines[i]), notes.stays[i]
            place = self._by_id.get(stay, -1) if stay else int(by_time[i])
            fault = self._find_fault(int(notes.subjects[i]), stay, place, text)
            if fault:
                case_id = self._stays.encounters[place].case_id if place >= 0 else ""
                refused.append(Rejection(name, fault[1], line, fault[0], case_id=case_id))
            elif place >= 0:
                taken.append((place, line, NoteRecord(text, times[i], notes.kinds[i])))
        return NoteBlock(tuple(taken), offered, tuple(refused))

    def _find_fault(self, subject: int, stay: str, place: int, text: str) -> tuple[str, str] | None:
        """Return (field, reason) for a note that cannot be stored."""
        if place < 0:
            return ("hadm_id", NO_STAY if stay else OUTSIDE) if self._strict else None
        if self._stays.subjects[place] != subject:
            return "subject_id", "not the subject of this admission"
        if "\x00" in text:
            return "text", "the note has a NUL character"
        if not has_words(text):
            return "text", "the note is empty"
        if len(text.encode()) > self._limits.note_bytes:
            most = self._limits.note_bytes
            return "text", f"the note has more than {most:,} bytes (IMPORT_NOTE_BYTES)"
        return None


def read_note_file(
    paths: Sequence[Path], places: NotePlaces, limits: Limits
) -> Iterator[NoteBlock]:
    """Yield the notes of a file beside the shards. Raises WrongFile."""
    path, name = paths[0], safe_name(paths[0])
    if len(paths) > 1:
        other = safe_name(paths[1])
        raise WrongFile(Rejection(name, f"the notes are there twice; remove this or {other}"))
    if reason := describe_fault(path):
        raise WrongFile(Rejection(name, reason))
    for block in read_blocks(path, REQUIRED, OPTIONAL, limits):
        columns = {c: pc.utf8_trim_whitespace(block.columns[c]) for c in (*REQUIRED, *OPTIONAL)}
        subjects = parse_ids(columns["subject_id"])
        times, wrong = clock_times(columns["time"])
        faults = {
            "subject_id": ("not a number", subjects < 0),
            "time": ("not a date and time", pc.fill_null(wrong, False).to_numpy()),
        }
        rejections = [
            Rejection(name, reason, block.line(i), field)
            for field, (reason, mask) in faults.items()
            for i in np.flatnonzero(mask).tolist()
        ]
        good = np.flatnonzero(~np.any([mask for _, mask in faults.values()], axis=0))
        kept = pa.array(good)
        notes = Texts(
            subjects[good],
            times.take(kept),
            columns["hadm_id"].take(kept).to_pylist(),
            [read_kind(kind) for kind in columns["kind"].take(kept).to_pylist()],
            block.columns["text"].take(kept).to_pylist(),
            block.lines[good],
        )
        yield places.make_block(notes, name, block.offered, (*block.rejections, *rejections))
