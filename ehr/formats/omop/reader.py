"""The OMOP common data model, versions 5.3 and 5.4, as a folder of tables.

The tables are CSV, gzipped CSV or Parquet. A stay is a visit of an inpatient or emergency kind; a
row without a visit belongs to the stay of its person that includes its time. Missing tables are
named and skipped. docs/reference/omop.md has the mapping. No Django here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from ehr.formats.base import FormatError, Rejection, WrongFile, safe_name
from ehr.formats.columns import parse_ids
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.omop.concepts import CONCEPT, Concepts, read_concepts
from ehr.formats.omop.files import (
    clean_columns,
    find_columns,
    find_file,
    find_files,
    find_unread,
    read_blocks,
)
from ehr.formats.omop.notes import read_notes
from ehr.formats.omop.rows import build_person_rows, build_rows
from ehr.formats.omop.tables import (
    NOTES,
    PERSON_OPTIONAL,
    PERSON_REQUIRED,
    PERSONS,
    TABLES,
    VISITS,
    Table,
    person_facts,
)
from ehr.formats.omop.visits import Visits, read_visits
from ehr.formats.stream import (
    EncounterList,
    Ints,
    NoteBlock,
    StreamBlock,
    StreamFile,
    name_choice,
    reject_absent,
)

READ = (PERSONS, *(table.name for table in TABLES), NOTES, CONCEPT)


class Omop:
    """A `StreamSource` over one folder.

    `chosen`: only these visits (visit_occurrence_id), of any kind; None: all stays.
    """

    def __init__(
        self, root: Path, chosen: Collection[str] | None = None, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Raises FormatError if the folder has no table of visits."""
        self._root = root
        self._chosen = None if chosen is None else frozenset(chosen)
        self._limits = limits
        if not root.is_dir() or not find_files(root, VISITS):
            raise FormatError(
                f"{root} has no {VISITS}.csv, .csv.gz or .parquet. The omop format is a folder with"
                " one file for each table of the CDM."
            )

    @property
    def identity(self) -> str:
        """Which visits were chosen."""
        return name_choice("omop", self._chosen)

    def encounters(self) -> EncounterList:
        """Return the stays in file order. Raises WrongFile."""
        visits, name = self._visits, safe_name(self._path(VISITS))
        known = {e.case_id for e in visits.encounters} | {r.case_id for r in visits.rejections}
        absent = reject_absent(self._chosen, known, name, "no such visit", "visit_occurrence_id")
        rejections = (*visits.rejections, *absent)
        refused = []
        if not visits.encounters and not rejections:
            reason = "no visit is a hospital stay; name visits with --cases"
            refused.append(Rejection(name, reason, field="visit_concept_id"))
        return EncounterList(
            visits.encounters,
            rejections,
            tuple(refused),
            missing_files=tuple(self._missing()),
            unread_files=tuple(find_unread(self._root, READ)),
        )

    def files(self) -> Sequence[StreamFile]:
        """The tables that are there, then the notes."""
        beside = self._beside()
        persons = find_files(self._root, PERSONS)[:1]
        return [
            *(StreamFile(safe_name(p), p, self._person_blocks, beside) for p in persons),
            *(
                StreamFile(safe_name(path), path, partial(self._blocks, table), beside)
                for table in TABLES
                for path in find_files(self._root, table.name)[:1]
            ),
            *(
                StreamFile(safe_name(path), path, self._note_blocks, beside, notes=True)
                for path in find_files(self._root, NOTES)[:1]
            ),
        ]

    def _beside(self) -> tuple[Path, ...]:
        return tuple(path for path in find_files(self._root, CONCEPT) if path.is_file())

    def _missing(self) -> Iterator[str]:
        """Tables and datetime columns that are not there."""
        for name in READ:
            if not find_files(self._root, name):
                yield name
        for table in TABLES:
            for path in find_files(self._root, table.name)[:1]:
                if path.is_file():
                    yield from self._missing_times(path, table)

    def _missing_times(self, path: Path, table: Table) -> Iterator[str]:
        try:
            there = find_columns(path, "")
        except (WrongFile, OSError):
            return
        for column in table.optional:
            if column.endswith("_datetime") and column not in there:
                yield f"{safe_name(path)}, column {column}"

    def _blocks(self, table: Table) -> Iterator[StreamBlock]:
        """The rows a table makes, block by block. Raises WrongFile."""
        path = self._path(table.name)
        required = (
            "person_id",
            *(["visit_occurrence_id"] if table.visit else []),
            *table.required,
        )
        for block in read_blocks(path, required, table.optional, self._limits):
            columns = clean_columns(block)
            facts = table.facts(columns, self._concepts)
            yield build_rows(block, columns, facts, self._visits, safe_name(path), table.name)

    def _person_blocks(self) -> Iterator[StreamBlock]:
        path = self._path(PERSONS)
        for block in read_blocks(path, PERSON_REQUIRED, PERSON_OPTIONAL, self._limits):
            columns = clean_columns(block)
            facts = person_facts(columns, self._concepts)
            yield build_person_rows(block, columns, facts, self._visits, safe_name(path))

    def _note_blocks(self) -> Iterator[NoteBlock]:
        return read_notes(self._path(NOTES), self._visits, self._concepts, self._limits)

    def _path(self, table: str) -> Path:
        """Return the file of a table that is there. Raises WrongFile."""
        path = find_file(self._root, table)
        assert path is not None
        return path

    @cached_property
    def _concepts(self) -> Concepts:
        return read_concepts(find_file(self._root, CONCEPT), self._limits)

    @cached_property
    def _persons(self) -> Ints | None:
        """Return the persons of the table person, None without it.

        A table that cannot be read is refused as a file of rows, and checks no visit.
        """
        try:
            path = find_file(self._root, PERSONS)
            if path is None:
                return None
            blocks = read_blocks(path, PERSON_REQUIRED[:1], (), self._limits)
            ids = [parse_ids(block.columns["person_id"]) for block in blocks]
        except (WrongFile, OSError):
            return None
        return np.unique(np.concatenate([np.zeros(0, np.int64), *ids]))

    @cached_property
    def _visits(self) -> Visits:
        return read_visits(self._path(VISITS), self._persons, self._chosen, self._limits)
