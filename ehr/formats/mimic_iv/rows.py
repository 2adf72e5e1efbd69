"""Lines of MIMIC-IV tables as rows of encounters.

Every line is stored, rejected with its reason, or of no stay that is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.formats.base import LONGEST_EVENT, RAW_CHARACTERS, EncounterRecord, Rejection
from ehr.formats.columns import (
    BAD_ID,
    NO_ID,
    clock_times,
    first_present,
    parse_ids,
    parse_values,
)
from ehr.formats.delimited import TextBlock
from ehr.formats.mimic_iv.tables import Fact, Table
from ehr.formats.stream import Ints, StreamBlock, Windows
from ehr.schema import ROWS

UNASSIGNED = "neither an admission nor a time says which stay the line belongs to"
Mask = NDArray[np.bool_]
Columns = Mapping[str, pa.ChunkedArray]


class Stays:
    """The imported encounters, and which of them a line belongs to."""

    def __init__(
        self, encounters: Sequence[EncounterRecord], registered: Sequence[datetime]
    ) -> None:
        """Parallel sequences."""
        self._encounters = encounters
        self.subjects = np.array([int(e.subject_key) for e in encounters], np.int64)
        self._starts = np.array(registered, "datetime64[us]").astype(np.int64)
        self._ends = np.array(
            [e.discharged_at or e.admitted_at for e in encounters], "datetime64[us]"
        ).astype(np.int64)
        ids = np.array([int(e.case_id) for e in encounters], np.int64)
        self._by_id = np.argsort(ids)
        self._ids = ids[self._by_id]

    def case_id(self, place: int) -> str:
        """The admission at a place."""
        return self._encounters[place].case_id

    def places(self, block: TextBlock, columns: Columns, name: str) -> tuple[Ints, list[Rejection]]:
        """Return (encounter of each line by its hadm_id, rejected lines).

        NO_ID is for lines of no or another admission, BAD_ID for rejected ones.
        """
        subjects = parse_ids(columns["subject_id"])
        ids = (
            parse_ids(columns["hadm_id"])
            if "hadm_id" in columns
            else np.full(len(block), NO_ID, np.int64)
        )
        places = np.full(len(block), NO_ID, np.int64)
        if len(self._ids):
            at = np.clip(np.searchsorted(self._ids, ids), 0, len(self._ids) - 1)
            places = np.where(self._ids[at] == ids, self._by_id[at], NO_ID)
        found = places >= 0
        odd_id = ids == BAD_ID
        odd_subject = (subjects < 0) & (found | (ids < 0))
        other = np.zeros(len(block), bool)
        other[found] = self.subjects[places[found]] != subjects[found]
        faults = (
            ("subject_id", "not a number", odd_subject),
            ("hadm_id", "not a number", odd_id & ~odd_subject & self.is_imported(subjects)),
            ("subject_id", "not the subject of this admission", other & ~odd_subject),
        )
        rejections = _build_rejections(block, faults, name)
        places[np.any([mask for *_, mask in faults], axis=0)] = BAD_ID
        places[odd_id & (places == NO_ID)] = BAD_ID
        return places, rejections

    def is_imported(self, subjects: Ints) -> Mask:
        """True for subjects of the imported encounters."""
        return np.isin(subjects, self.subjects)

    def find_by_time(self, subjects: Ints, times: Ints, *, days: bool) -> Ints:
        """Return the encounter of each subject at each time.

        `days`: rows with a day and no hour belong to the stay of that day.
        """
        return (self._days if days else self._windows).find(subjects, times)

    @cached_property
    def _windows(self) -> Windows:
        return Windows(self.subjects, self._starts, self._ends)

    @cached_property
    def _days(self) -> Windows:
        return Windows(self.subjects, self._starts - self._starts % 86_400_000_000, self._ends)


def build_rows(
    block: TextBlock, columns: Columns, facts: Sequence[Fact], stays: Stays, name: str, table: Table
) -> StreamBlock:
    """Return the rows that the table's facts make of a block.

    They are in order of line, with every line that cannot be read as a rejection.
    """
    places, rejections = stays.places(block, columns, name)
    if block.nul:
        nul = np.any(
            [pc.match_substring(c, "\x00").to_numpy() for c in columns.values()], axis=0
        ) & (places != BAD_ID)
        rejections += _build_rejections(block, [("", "the text has a NUL character", nul)], name)
        places = np.where(nul, BAD_ID, places)
    parts = [_build_fact_rows(block, columns, fact, places, stays, name, table) for fact in facts]
    order = np.argsort(np.concatenate([kept for kept, *_ in parts]), kind="stable")
    kept = np.concatenate([kept for kept, *_ in parts])[order]
    return StreamBlock(
        rows=pa.concat_tables([rows for _, _, rows, _ in parts]).take(pa.array(order)),
        encounters=np.concatenate([found for _, found, _, _ in parts])[order],
        lines=block.lines[kept],
        offered=block.offered,
        rejections=tuple(
            dict.fromkeys(
                [*block.rejections, *rejections, *(r for *_, found in parts for r in found)]
            )
        ),
    )


def _build_fact_rows(
    block: TextBlock,
    columns: Columns,
    fact: Fact,
    places: Ints,
    stays: Stays,
    name: str,
    table: Table,
) -> tuple[Ints, Ints, pa.Table, list[Rejection]]:
    """Return (positions, encounters, rows, rejections) of one kind of fact.

    Positions are places in the block.
    """
    length = len(block)
    time_text = (
        first_present(*(columns[c] for c in fact.time.split("|")))
        if fact.time
        else pa.repeat("", length)
    )
    times, wrong_time = (_array(part) for part in clock_times(time_text))
    result_text = columns.get(fact.result_time or "")
    results, wrong_result = (
        (None, None) if result_text is None else (_array(part) for part in clock_times(result_text))
    )
    only = np.ones(length, bool) if fact.only is None else _mask(fact.only)
    owners = _owners(columns, places, times, stays, days=not table.admission)
    keep = (owners >= 0) & only
    wrong = _mask(wrong_time)
    # A line with neither a time nor an admission cannot be assigned, although it may be of one of
    # these stays.
    lost = _mask(pc.is_null(times)) & (owners == NO_ID) & only & is_empty(columns, "hadm_id")
    if lost.any():
        lost &= stays.is_imported(parse_ids(columns["subject_id"]))
    faults = [
        (fact.time or "", "not a date and time", wrong & (keep | lost)),
        (fact.time or "hadm_id", UNASSIGNED, lost & ~wrong),
        (
            "",
            f"the event is longer than {LONGEST_EVENT:,} bytes",
            _mask(pc.greater(pc.binary_length(fact.event), LONGEST_EVENT)) & keep,
        ),
    ]
    if wrong_result is not None:
        faults.append((fact.result_time or "", "not a date and time", _mask(wrong_result) & keep))
    kept = np.flatnonzero(keep & ~np.any([mask for *_, mask in faults], axis=0))
    rows = pa.table(
        {
            "time": times,
            "result_time": pa.nulls(length, ROWS.field("result_time").type)
            if results is None
            else results,
            "event": fact.event,
            "value": pa.repeat(fact.value, length) if isinstance(fact.value, str) else fact.value,
            "numeric_value": pa.nulls(length, pa.float64())
            if isinstance(fact.value, str)
            else parse_values(fact.event, fact.value),
            "unit": pa.repeat(fact.unit, length) if isinstance(fact.unit, str) else fact.unit,
            "source": pa.repeat(table.path.partition("/")[2], length),
            "time_kind": pa.repeat(fact.kind.value, length),
        },
        schema=pa.schema([f for f in ROWS if f.name != "row_index"]),
    ).take(pa.array(kept))
    return kept, owners[kept], rows, _build_rejections(block, faults, name)


def _owners(columns: Columns, places: Ints, times: pa.Array, stays: Stays, *, days: bool) -> Ints:
    """Return the places, with those of lines without an admission added.

    These are assigned by subject and time.
    """
    without = (places == NO_ID) & is_empty(columns, "hadm_id")
    timed = without & _mask(pc.is_valid(times)) if without.any() else without
    if not timed.any():
        return places
    owners = places.copy()
    moments = pc.fill_null(times.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    owners[timed] = stays.find_by_time(
        parse_ids(columns["subject_id"])[timed], moments[timed], days=days
    )
    return owners


def is_empty(columns: Columns, name: str) -> Mask:
    """Return a mask of rows whose column is empty or missing."""
    if name not in columns:
        return np.ones(len(columns["subject_id"]), bool)
    return _mask(pc.equal(pc.binary_length(columns[name]), 0))


def _build_rejections(
    block: TextBlock, faults: Sequence[tuple[str, str, Mask]], name: str
) -> list[Rejection]:
    return [
        Rejection(name, reason, block.line(i), field, _raw(block, i))
        for field, reason, mask in faults
        for i in np.flatnonzero(mask).tolist()
    ]


def _raw(block: TextBlock, i: int) -> str:
    return ",".join(str(column[i].as_py()) for column in block.columns.columns).replace(
        "\x00", "\\0"
    )[:RAW_CHARACTERS]


def _mask(values: pa.Array | pa.ChunkedArray) -> Mask:
    return np.asarray(
        values.to_numpy(zero_copy_only=False)
        if isinstance(values, pa.Array)
        else values.to_numpy(),
        bool,
    )


def _array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
