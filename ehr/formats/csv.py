"""Plain rows: a file `t,event,value[,unit,source,time_kind]` (.csv, .csv.gz or .parquet), or a folder of them, one file a case.

`<case>.txt` beside a file is its note. `encounters.csv` (case_id, admitted_at[, discharged_at, title, subject_key]) says when the
cases were admitted; a case that it does not name is anchored at its earliest row, its first documented presentation
(protocol section 1). No Django here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from ehr.formats.base import EncounterRecord, FormatError, NoteRecord, Rejection
from ehr.formats.columns import clock_times
from ehr.formats.csv_blocks import WrongFile, read_csv_blocks
from ehr.formats.row_files import SUFFIXES, read_rows
from ehr.formats.stream import EncounterList, NoteBlock, StreamBlock, StreamFile

ENCOUNTERS = "encounters.csv"
LONGEST_CASE_ID = 100


class PlainRows:
    """A `StreamSource` over a file or a folder. `chosen`: only these cases; None: all."""

    def __init__(self, path: Path, chosen: Collection[str] | None = None) -> None:
        """Raises FormatError where there is no file of rows."""
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [(case_of(file), file) for file in files if file.is_file() and file.name != ENCOUNTERS and case_of(file)]
        self._files = {case: file for case, file in found if chosen is None or case in chosen}
        self._folder = path if path.is_dir() else path.parent
        self._twice = len({case for case, _ in found}) != len(found)
        if not found:
            raise FormatError(f"{path} is no file of rows and holds none. Expected: {', '.join(SUFFIXES)}, one file a case.")

    @property
    def identity(self) -> str:
        """Which cases were chosen."""
        return "csv " + hashlib.sha256("\0".join(self._files).encode()).hexdigest()

    def encounters(self) -> EncounterList:
        """The cases in order of name. Raises FormatError where two files are of one case."""
        if self._twice:
            raise FormatError(f"{self._folder} holds two files of rows of one case.")
        return self._found

    @cached_property
    def _found(self) -> EncounterList:
        found = {case: self._encounter(case, file) for case, file in self._files.items()}
        rejections = [*self._listed[1], *(e for e in found.values() if isinstance(e, Rejection))]
        return EncounterList(tuple(e for e in found.values() if isinstance(e, EncounterRecord)), tuple(rejections))

    def files(self) -> Sequence[StreamFile]:
        """One file a case."""
        cases = [e.case_id for e in self.encounters().encounters]
        return [
            StreamFile(self._files[case].name, self._files[case], partial(self._blocks, place, case)) for place, case in enumerate(cases)
        ]

    def notes(self) -> Iterator[NoteBlock]:
        """The notes that are there."""
        for place, encounter in enumerate(self.encounters().encounters):
            path = self._folder / f"{encounter.case_id}.txt"
            if not path.is_file():
                continue
            try:
                text = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                text = "\x00"
            if "\x00" in text or not text.strip():
                yield NoteBlock((), (Rejection(f"note/{path.name}", "empty, or not UTF-8 text", case_id=encounter.case_id),))
            else:
                yield NoteBlock(((place, NoteRecord(text)),))

    def _blocks(self, place: int, case: str) -> Iterator[StreamBlock]:
        for block in read_rows(self._files[case], self._files[case].name):
            yield StreamBlock(block.rows.drop_columns(["row_index"]), np.full(len(block.rows), place, np.int64), block.rejections)

    def _encounter(self, case: str, file: Path) -> EncounterRecord | Rejection:
        if case in self._listed[0]:
            return self._listed[0][case]
        earliest = None
        try:
            for block in read_rows(file, file.name):
                first = pc.min(block.rows["time"]).as_py()
                earliest = min(filter(None, (earliest, first)), default=None)
        except WrongFile as error:
            return error.rejection
        if earliest is None:
            return Rejection(file.name, "no row has a time, and encounters.csv does not say when the case was admitted", case_id=case)
        return EncounterRecord(case, earliest, anchor="presentation")

    @cached_property
    def _listed(self) -> tuple[dict[str, EncounterRecord], list[Rejection]]:
        """What encounters.csv says of the cases that are there. Raises WrongFile."""
        path = self._folder / ENCOUNTERS
        listed: dict[str, EncounterRecord] = {}
        rejections: list[Rejection] = []
        if not path.is_file():
            return listed, rejections
        for block in read_csv_blocks(path, ENCOUNTERS, ("case_id", "admitted_at"), ("discharged_at", "title", "subject_key")):
            columns = {name: block.columns[name].to_pylist() for name in block.columns.column_names}
            admitted = clock_times(block.columns["admitted_at"])[0].to_pylist()
            empty = [""] * len(block)
            discharged = clock_times(block.columns["discharged_at"])[0].to_pylist() if "discharged_at" in columns else [None] * len(block)
            for i, case in enumerate(columns["case_id"]):
                if case not in self._files:
                    continue
                if admitted[i] is None or (discharged[i] is not None and discharged[i] < admitted[i]) or case in listed:
                    reason = "the case stands twice" if case in listed else "no admission before a discharge"
                    rejections.append(Rejection(ENCOUNTERS, reason, block.line(i), "admitted_at", case_id=case))
                    continue
                title, subject = (columns.get(c, empty)[i].replace("\x00", "") for c in ("title", "subject_key"))
                listed[case] = EncounterRecord(case, admitted[i], discharged[i], title[:500], subject_key=subject[:100])
        return listed, rejections


def case_of(file: Path) -> str:
    """The case a file of rows belongs to, by its name; "" for any other file."""
    for suffix in SUFFIXES:
        if file.name.endswith(suffix):
            return file.name.removesuffix(suffix)[:LONGEST_CASE_ID]
    return ""
