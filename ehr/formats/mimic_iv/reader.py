"""MIMIC-IV in its published layout.

It has hosp/, icu/ and note/ with .csv or .csv.gz files (names as in github.com/MIT-LCP/mimic-code).
Every table of `ehr.formats.mimic_iv.tables` has its own time kinds; missing files are named and
skipped. A row without hadm_id belongs to the admission whose stay, from registration to discharge,
includes its time. Every file of note/ with the columns of a note is read. No Django here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from ehr.formats.base import FormatError, Rejection, WrongFile, describe_fault
from ehr.formats.delimited import TextBlock, header_names, read_csv_blocks
from ehr.formats.dictionaries import Dictionaries
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.mimic_iv.admissions import ADMISSIONS, Admissions, read_admissions
from ehr.formats.mimic_iv.notes import (
    SUFFIXES,
    NoteTable,
    find_note_tables,
    find_unread,
    read_notes,
)
from ehr.formats.mimic_iv.rows import Stays, build_rows
from ehr.formats.mimic_iv.tables import TABLES, Table
from ehr.formats.stream import (
    EncounterList,
    NoteBlock,
    StreamBlock,
    StreamFile,
    name_choice,
    reject_absent,
)


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
            unread_files=tuple(find_unread(self._root, {ADMISSIONS, *self._names})),
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
        notes = [
            StreamFile(t.name, paths[0], partial(self._notes, t), notes=True)
            for t in self._note_tables
            if (paths := find_files(self._root, t.name))
        ]
        return [*tables, *notes]

    def _find_dictionaries(self, names: Sequence[str]) -> tuple[Path, ...]:
        """Return the dictionaries of a table that exist.

        One that cannot be read is refused when rows need it.
        """
        paths = (path for name in names for path in find_files(self._root, name))
        return tuple(path for path in paths if path.is_file())

    def _missing(self) -> Iterator[str]:
        """Files and optional columns that are not there."""
        yield from (name for name in self._names if not find_files(self._root, name))
        for table in TABLES:
            for path in find_files(self._root, table.path)[:1]:
                yield from (
                    f"{table.path}, column {c}"
                    for c in table.optional
                    if path.is_file() and c not in header_names(path)
                )

    def _notes(self, table: NoteTable) -> Iterator[NoteBlock]:
        """The notes of one kind. Raises WrongFile."""
        return read_notes(self._path(table.name), table, self._stays, self._limits)

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
    def _note_tables(self) -> list[NoteTable]:
        return find_note_tables(self._root)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The files that are read, without suffix."""
        notes = (t.name for t in self._note_tables)
        return (*(t.path for t in TABLES), *Dictionaries.NAMES, *notes)

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
    places = (root / f"{name}{suffix}" for suffix in SUFFIXES)
    return [path for path in places if path.is_file() or describe_fault(path)]
