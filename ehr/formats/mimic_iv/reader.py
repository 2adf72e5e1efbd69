"""MIMIC-IV in its published layout.

It has hosp/, icu/ and note/ with .csv or .csv.gz files (names as in github.com/MIT-LCP/mimic-code).
Every table of `ehr.formats.mimic_iv.tables` has its own time kinds; missing files are named and
skipped. A row without hadm_id belongs to the admission whose stay, from registration to discharge,
includes its time. No Django here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from ehr.formats.base import (
    FormatError,
    NoteRecord,
    Rejection,
    WrongFile,
    describe_fault,
    has_words,
)
from ehr.formats.columns import NO_ID, clock_times, parse_ids
from ehr.formats.delimited import TextBlock, header_names, read_csv_blocks
from ehr.formats.dictionaries import Dictionaries
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.mimic_iv.admissions import ADMISSIONS, Admissions, read_admissions
from ehr.formats.mimic_iv.rows import Stays, build_rows, is_empty
from ehr.formats.mimic_iv.tables import TABLES, Table
from ehr.formats.stream import (
    EncounterList,
    NoteBlock,
    StreamBlock,
    StreamFile,
    name_choice,
    reject_absent,
)

NOTES = "note/discharge"


class MimicIV:
    """A `StreamSource` over one directory.

    `chosen`: only these admissions (hadm_id); None: all.
    """

    def __init__(
        self, root: Path, chosen: Collection[str] | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Raises FormatError if the directory has no admissions table."""
        self._root = root
        self._chosen = None if chosen is None else frozenset(chosen)
        self._limits = limits
        if not find_files(root, ADMISSIONS):
            raise FormatError(
                f"{root} has no {ADMISSIONS}.csv or .csv.gz. The mimic_iv format is the published"
                " directory layout."
            )

    @property
    def identity(self) -> str:
        """Which admissions were chosen."""
        return name_choice("mimic_iv", self._chosen)

    def encounters(self) -> EncounterList:
        """Return the chosen admissions in file order.

        An admission with a fault is rejected. Raises WrongFile.
        """
        listed = self._admissions
        known = {e.case_id for e in listed.encounters} | {r.case_id for r in listed.rejections}
        absent = reject_absent(self._chosen, known, ADMISSIONS, "no such admission", "hadm_id")
        return EncounterList(
            listed.encounters,
            (*listed.rejections, *absent),
            missing_files=tuple(self._missing()),
        )

    def files(self) -> Sequence[StreamFile]:
        """The tables that are there, then the notes."""
        tables = [
            StreamFile(
                t.path, paths[0], partial(self._blocks, t), self._find_dictionaries(t.dictionaries)
            )
            for t in TABLES
            if (paths := find_files(self._root, t.path))
        ]
        notes = find_files(self._root, NOTES)
        return [*tables, *([StreamFile(NOTES, notes[0], self._notes, notes=True)] if notes else [])]

    def _find_dictionaries(self, names: Sequence[str]) -> tuple[Path, ...]:
        """Return the dictionaries of a table that exist.

        One that cannot be read is refused when rows need it.
        """
        paths = (path for name in names for path in find_files(self._root, name))
        return tuple(path for path in paths if path.is_file())

    def _missing(self) -> Iterator[str]:
        """Files and optional columns that are not there."""
        yield from (
            name
            for name in (*(t.path for t in TABLES), *Dictionaries.NAMES, NOTES)
            if not find_files(self._root, name)
        )
        for table in TABLES:
            for path in find_files(self._root, table.path)[:1]:
                yield from (
                    f"{table.path}, column {c}"
                    for c in table.optional
                    if path.is_file() and c not in header_names(path)
                )

    def _notes(self) -> Iterator[NoteBlock]:
        """The discharge summaries of the encounters. Raises WrongFile."""
        path = self._path(NOTES)
        for block in read_csv_blocks(
            path, NOTES, ("subject_id", "hadm_id", "charttime", "text"), limits=self._limits
        ):
            columns = {
                c: pc.utf8_trim_whitespace(block.columns[c])
                for c in ("subject_id", "hadm_id", "charttime")
            }
            places, found = self._stays.places(block, columns, NOTES)
            rejections = [*block.rejections, *found]
            # Notes are not assigned by time: many are written after the stay.
            ours = self._stays.is_imported(parse_ids(columns["subject_id"]))
            rejections += [
                Rejection(NOTES, "the note names no admission", block.line(i), "hadm_id")
                for i in np.flatnonzero(
                    (places == NO_ID) & is_empty(columns, "hadm_id") & ours
                ).tolist()
            ]
            times, wrong = clock_times(columns["charttime"])
            notes = []
            for i in np.flatnonzero(places >= 0).tolist():
                text = block.columns["text"][i].as_py()
                fault = self._note_fault(text, wrong[i].as_py())
                if fault:
                    rejections.append(
                        Rejection(
                            NOTES,
                            fault[1],
                            block.line(i),
                            fault[0],
                            case_id=self._stays.case_id(int(places[i])),
                        )
                    )
                else:
                    notes.append(
                        (int(places[i]), block.line(i), NoteRecord(text, times[i].as_py()))
                    )
            yield NoteBlock(tuple(notes), block.offered, tuple(rejections))

    def _note_fault(self, text: str, wrong_time: bool) -> tuple[str, str] | None:
        """(field, reason), None for a note that can be stored."""
        if "\x00" in text:
            return "text", "the note has a NUL character"
        if not has_words(text):
            return "text", "the note is empty"
        if len(text.encode()) > self._limits.note_bytes:
            return (
                "text",
                f"the note has more than {self._limits.note_bytes:,} bytes (IMPORT_NOTE_BYTES)",
            )
        return ("charttime", "not a date and time") if wrong_time else None

    def _blocks(self, table: Table) -> Iterator[StreamBlock]:
        """The rows a table makes, block by block. Raises WrongFile."""
        path = self._path(table.path)
        required = ("subject_id", *(["hadm_id"] if table.admission else []), *table.columns)
        name = f"{table.path}{'.csv.gz' if path.suffix == '.gz' else '.csv'}"
        for block in read_csv_blocks(path, name, required, table.optional, limits=self._limits):
            yield self._rows(block, table, name)

    def _rows(self, block: TextBlock, table: Table, name: str) -> StreamBlock:
        columns = {c: pc.utf8_trim_whitespace(block.columns[c]) for c in block.columns.column_names}
        facts = table.facts(columns, self._dictionaries)
        return build_rows(block, columns, facts, self._stays, name, table)

    def _path(self, name: str) -> Path:
        """Return the file of a table. Raises WrongFile if there are two."""
        paths = find_files(self._root, name)
        if len(paths) > 1:
            raise WrongFile(
                Rejection(name, "the table is there twice, as .csv and as .csv.gz; remove one")
            )
        if reason := describe_fault(paths[0]):
            raise WrongFile(Rejection(name, reason))
        return paths[0]

    @cached_property
    def _dictionaries(self) -> Dictionaries:
        def find(name: str) -> Path | None:
            return self._path(name) if find_files(self._root, name) else None

        return Dictionaries(
            find, None if self._chosen is None else np.unique(self._stays.subjects), self._limits
        )

    @cached_property
    def _stays(self) -> Stays:
        return Stays(self._admissions.encounters, self._admissions.registered)

    @cached_property
    def _admissions(self) -> Admissions:
        return read_admissions(self._path(ADMISSIONS), self._chosen, self._limits)


def find_files(root: Path, name: str) -> list[Path]:
    """The files of a table, plain or gzipped; more than one is a fault."""
    places = (root / f"{name}{suffix}" for suffix in (".csv.gz", ".csv"))
    return [path for path in places if path.is_file() or describe_fault(path)]
