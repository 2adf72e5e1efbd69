"""MIMIC-IV in its published layout: hosp/, icu/ and note/ with .csv or .csv.gz files (github.com/MIT-LCP/mimic-code names).

Every table of `ehr.formats.mimic_tables` with the time kinds of its own; missing files are named and skipped. Rows without
hadm_id belong to the admission whose stay, from registration to discharge, their time falls into. No Django here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.base import EncounterRecord, FormatError, NoteRecord, Rejection
from ehr.formats.columns import clock_times, numbers_of
from ehr.formats.csv_blocks import RAW_CHARACTERS, TextBlock, read_csv_blocks
from ehr.formats.dictionaries import Dictionaries
from ehr.formats.mimic_tables import TABLES, Fact, Table, first_of
from ehr.formats.stream import EncounterList, Ints, NoteBlock, StreamBlock, StreamFile, Windows
from ehr.schema import ROWS

ADMISSIONS = "hosp/admissions"
NOTES = "note/discharge"
NO_ID = -1
#: What subjects and admissions are called.
ID = re.compile(r"[0-9]{1,18}")
LONGEST_TITLE = 500


class MimicIV:
    """A `StreamSource` over one directory. `chosen`: only these admissions (hadm_id); None: all."""

    def __init__(self, root: Path, chosen: Collection[str] | None = None) -> None:
        """Raises FormatError where the directory has no admissions table."""
        self._root = root
        self._chosen = None if chosen is None else frozenset(chosen)
        if file_of(root, ADMISSIONS) is None:
            raise FormatError(f"{root} has no {ADMISSIONS}.csv or .csv.gz. The mimic_iv format is the published directory layout.")

    @property
    def identity(self) -> str:
        """Which admissions were chosen."""
        return "mimic_iv " + ("all" if self._chosen is None else hashlib.sha256(" ".join(sorted(self._chosen)).encode()).hexdigest())

    def encounters(self) -> EncounterList:
        """The chosen admissions in file order; one whose times cannot be read is rejected."""
        missing = tuple(t.path for t in TABLES if file_of(self._root, t.path) is None)
        missing += tuple(name for name in (*Dictionaries.NAMES, NOTES) if file_of(self._root, name) is None)
        rejections = list(self._admissions[2])
        if self._chosen is not None:
            absent = sorted(self._chosen - {e.case_id for e in self._admissions[0]} - {r.case_id for r in rejections})
            rejections += [Rejection(ADMISSIONS, "no such admission", field="hadm_id", case_id=case_id) for case_id in absent]
        return EncounterList(self._admissions[0], tuple(rejections), missing)

    def files(self) -> Sequence[StreamFile]:
        """The tables that are there."""
        found = ((table, file_of(self._root, table.path)) for table in TABLES)
        return [
            StreamFile(t.path, path, partial(self._blocks, t, path), self._dictionaries.files(t.dictionaries)) for t, path in found if path
        ]

    def notes(self) -> Iterator[NoteBlock]:
        """The discharge summaries of the encounters. Raises WrongFile."""
        path = file_of(self._root, NOTES)
        if path is None:
            return
        for block in read_csv_blocks(path, NOTES, ("subject_id", "hadm_id", "charttime", "text")):
            places = self._places(block, None, None)
            times, _ = clock_times(block.columns["charttime"])
            chosen = [i for i in np.flatnonzero(places >= 0).tolist() if block.columns["text"][i].as_py().strip("\x00 \r\n")]
            yield NoteBlock(
                tuple((int(places[i]), NoteRecord(_storable(block.columns["text"][i].as_py()), times[i].as_py())) for i in chosen)
            )

    def _blocks(self, table: Table, path: Path) -> Iterator[StreamBlock]:
        """The rows a table makes, block by block. Raises WrongFile."""
        required = ("subject_id", *(["hadm_id"] if table.admission else []), *table.columns)
        windows = self._windows if table.admission else self._days
        name = f"{table.path}{''.join(path.suffixes)}"
        for block in read_csv_blocks(path, name, required, table.optional):
            columns = {c: pc.utf8_trim_whitespace(block.columns[c]) for c in block.columns.column_names}
            facts = table.facts(columns, self._dictionaries)
            yield _combined([self._rows(block, columns, fact, windows, name, table.path) for fact in facts])

    def _rows(
        self, block: TextBlock, columns: dict[str, pa.ChunkedArray], fact: Fact, windows: Windows, name: str, table: str
    ) -> tuple[Ints, StreamBlock]:
        """(positions in the block, rows) of one kind of fact; what cannot be read is rejected."""
        length = len(block)
        time_text = first_of(*(columns[c] for c in fact.time.split("|"))) if fact.time else pa.repeat("", length)
        times, wrong = clock_times(time_text)
        known_text = columns.get(fact.result_time or "")
        value = pa.repeat(fact.value, length) if isinstance(fact.value, str) else fact.value
        places = self._places(block, times, windows)
        keep = (places >= 0) & (np.ones(length, bool) if fact.only is None else fact.only.to_numpy(zero_copy_only=False))
        nul = pc.or_(pc.match_substring(value, "\x00"), pc.match_substring(fact.event, "\x00"))
        rejections = [
            Rejection(name, reason, block.line(i), field, value[i].as_py().replace("\x00", "\\0")[:RAW_CHARACTERS])
            for field, reason, mask in (
                (fact.time or "", "not a date and time", wrong),
                ("value", "the text holds a NUL character", nul),
            )
            for i in np.flatnonzero(mask.to_numpy(zero_copy_only=False) & keep).tolist()
        ]
        bad = wrong.to_numpy(zero_copy_only=False) | nul.to_numpy(zero_copy_only=False)
        kept = np.flatnonzero(keep & ~bad)
        rows = pa.table(
            {
                "time": times,
                "result_time": pa.nulls(length, ROWS.field("result_time").type) if known_text is None else clock_times(known_text)[0],
                "event": fact.event,
                "value": value,
                "numeric_value": numbers_of(fact.event, value),
                "unit": pa.repeat(fact.unit, length) if isinstance(fact.unit, str) else fact.unit,
                "source": pa.repeat(table.partition("/")[2], length),
                "time_kind": pa.repeat(fact.kind.value, length),
            },
            schema=pa.schema([f for f in ROWS if f.name != "row_index"]),
        ).take(pa.array(kept))
        return kept, StreamBlock(rows, places[kept], tuple(rejections))

    def _places(self, block: TextBlock, times: pa.ChunkedArray | None, windows: Windows | None) -> Ints:
        """The encounter of each row: by hadm_id, else by subject and time; -1 for admissions that are not wanted."""
        columns = block.columns
        found = np.full(len(block), NO_ID, np.int64)
        without = np.ones(len(block), bool)
        if "hadm_id" in columns.column_names:
            ids = _ids(columns["hadm_id"])
            sorted_ids, by_id = self._sorted_ids
            at = np.clip(np.searchsorted(sorted_ids, ids), 0, max(len(sorted_ids) - 1, 0))
            if len(sorted_ids):
                found = np.where(sorted_ids[at] == ids, by_id[at], NO_ID)
            without = ids == NO_ID
        if windows is not None and times is not None and without.any():
            timed = without & pc.is_valid(times).to_numpy(zero_copy_only=False)
            moments = pc.fill_null(times.cast(pa.int64()), 0).to_numpy()
            found[timed] = windows.find(_ids(columns["subject_id"])[timed], moments[timed])
        return found

    @cached_property
    def _dictionaries(self) -> Dictionaries:
        return Dictionaries(lambda name: file_of(self._root, name), subjects=None if self._chosen is None else np.unique(self._stays[0]))

    @cached_property
    def _sorted_ids(self) -> tuple[Ints, Ints]:
        ids = np.array([int(e.case_id) for e in self._admissions[0]], np.int64)
        order = np.argsort(ids)
        return ids[order], order

    @cached_property
    def _stays(self) -> tuple[Ints, Ints, Ints]:
        """(subject, registration or admission, discharge) of each encounter, times in microseconds."""
        encounters, registered, _ = self._admissions
        starts = np.array(registered, "datetime64[us]").astype(np.int64)
        ends = np.array([e.discharged_at or e.admitted_at for e in encounters], "datetime64[us]").astype(np.int64)
        return np.array([int(e.subject_key) for e in encounters], np.int64), starts, ends

    @cached_property
    def _windows(self) -> Windows:
        return Windows(*self._stays)

    @cached_property
    def _days(self) -> Windows:
        """As `_windows`, from midnight: rows that have a day and no hour belong to the stay of that day."""
        subjects, starts, ends = self._stays
        return Windows(subjects, starts - starts % 86_400_000_000, ends)

    @cached_property
    def _admissions(self) -> tuple[list[EncounterRecord], list[datetime], list[Rejection]]:
        """(encounters, when each was registered or admitted, rejections)."""
        path = file_of(self._root, ADMISSIONS)
        assert path is not None
        encounters: list[EncounterRecord] = []
        registered: list[datetime] = []
        rejections: list[Rejection] = []
        known: set[str] = set()
        needed = ("subject_id", "hadm_id", "admittime", "dischtime", "edregtime", "admission_type", "admission_location")
        for block in read_csv_blocks(path, ADMISSIONS, needed):
            columns = {c: block.columns[c].to_pylist() for c in ("subject_id", "hadm_id", "admission_type", "admission_location")}
            admitted, discharged, came = (clock_times(block.columns[c])[0].to_pylist() for c in ("admittime", "dischtime", "edregtime"))
            for i, hadm_id in enumerate(columns["hadm_id"]):
                if self._chosen is not None and hadm_id not in self._chosen:
                    continue
                if not (ID.fullmatch(hadm_id) and ID.fullmatch(columns["subject_id"][i])):
                    rejections.append(Rejection(ADMISSIONS, "not a number", block.line(i), "hadm_id", case_id=_storable(hadm_id)[:100]))
                elif hadm_id in known:
                    rejections.append(Rejection(ADMISSIONS, "the admission stands twice", block.line(i), "hadm_id", case_id=hadm_id))
                elif admitted[i] is None or (discharged[i] is not None and discharged[i] < admitted[i]):
                    rejections.append(Rejection(ADMISSIONS, "no admission before a discharge", block.line(i), "admittime", case_id=hadm_id))
                else:
                    title = _storable(", ".join(filter(None, (columns["admission_type"][i], columns["admission_location"][i]))))[
                        :LONGEST_TITLE
                    ]
                    known.add(hadm_id)
                    encounters.append(EncounterRecord(hadm_id, admitted[i], discharged[i], title, subject_key=columns["subject_id"][i]))
                    registered.append(min(came[i] or admitted[i], admitted[i]))
        return encounters, registered, rejections


def file_of(root: Path, name: str) -> Path | None:
    """The file of a table, plain or gzipped."""
    return next((path for suffix in (".csv.gz", ".csv") if (path := root / f"{name}{suffix}").is_file()), None)


def _combined(parts: list[tuple[Ints, StreamBlock]]) -> StreamBlock:
    """The facts of a block, row by row of the source."""
    order = pa.array(np.argsort(np.concatenate([kept for kept, _ in parts]), kind="stable"))
    rows = pa.concat_tables([block.rows for _, block in parts]).take(order)
    encounters = np.concatenate([block.encounters for _, block in parts])[order.to_numpy()]
    return StreamBlock(rows, encounters, tuple(dict.fromkeys(r for _, block in parts for r in block.rejections)))


def _ids(texts: pa.ChunkedArray) -> Ints:
    """Numbers of subjects and admissions; NO_ID for anything else (some exports write 123.0)."""
    plain = pc.replace_substring_regex(texts, r"\.0$", "")
    digits = pc.if_else(pc.match_substring_regex(plain, r"^\d{1,18}$"), plain, pa.scalar(None, pa.string()))
    return pc.fill_null(digits.cast(pa.int64()), NO_ID).to_numpy()


def _storable(text: str) -> str:
    return text.replace("\x00", "")
