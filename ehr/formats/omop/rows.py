"""Lines of CDM tables as rows of stays.

Every line is stored, rejected with its reason, or of no stay that is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.formats.base import LONGEST_EVENT, RAW_CHARACTERS, Rejection
from ehr.formats.columns import (
    BAD_ID,
    DATE_ONLY,
    NO_ID,
    Text,
    join_texts,
    parse_ids,
    parse_numbers,
    parse_values,
)
from ehr.formats.delimited import TextBlock
from ehr.formats.omop.tables import VISITS, Columns, Fact
from ehr.formats.omop.times import read_times, to_array
from ehr.formats.omop.visits import Visits
from ehr.formats.stream import Ints, StreamBlock
from ehr.schema import CLOCK, ROWS

UNASSIGNED = "neither a visit nor a time says which stay the line belongs to"
Mask = NDArray[np.bool_]
Fault = tuple[str, str, Mask]


def assign_visits(
    block: TextBlock, columns: Columns, visits: Visits, name: str
) -> tuple[Ints, list[Rejection]]:
    """Return (stay of each line by its visit, rejected lines).

    NO_ID is for lines without a visit, BAD_ID for rejected lines and those of other visits.
    """
    persons = parse_ids(columns["person_id"])
    ids = (
        parse_ids(columns["visit_occurrence_id"])
        if "visit_occurrence_id" in columns
        else np.full(len(block), NO_ID, np.int64)
    )
    places = visits.find(ids)
    found = places >= 0
    ours = np.isin(persons, visits.persons)
    other = np.zeros(len(block), bool)
    other[found] = visits.persons[places[found]] != persons[found]
    unknown = (ids >= 0) & ~np.isin(ids, visits.known)
    no_person = (persons < 0) & (found | (ids < 0))
    nul = find_nul(columns) if block.nul else np.zeros(len(block), bool)
    faults: list[Fault] = [
        ("person_id", "not a number", no_person),
        ("visit_occurrence_id", "not a number", (ids == BAD_ID) & ours),
        ("visit_occurrence_id", "visit_occurrence has no such visit", unknown & ours),
        ("person_id", "not the person of this visit", other & ~no_person),
        ("", "the text has a NUL character", nul & (found | (ids < 0)) & ~no_person),
    ]
    bad = np.any([mask for *_, mask in faults], axis=0)
    places = np.where(bad | (~found & (ids != NO_ID)), BAD_ID, places)
    return np.where((places < 0) & (places != BAD_ID), NO_ID, places), build_rejections(
        block, faults, name
    )


def build_rows(
    block: TextBlock,
    columns: Columns,
    facts: Sequence[Fact],
    visits: Visits,
    name: str,
    source: str,
) -> StreamBlock:
    """Return the rows that the table's facts make of a block.

    They are in order of line, with every line that cannot be read as a rejection. Rejected visits
    are among the rejections of the stays.
    """
    if source == VISITS:
        rejections: list[Rejection] = []
        odd: tuple[Rejection, ...] = ()
        places = visits.find_lines(block.lines)
        places = np.where(places < 0, BAD_ID, places)
    else:
        places, rejections = assign_visits(block, columns, visits, name)
        odd = block.rejections
    parts = [_build_fact_rows(block, columns, f, places, visits, name, source) for f in facts]
    kept = np.concatenate([part.kept for part in parts])
    order = np.argsort(kept, kind="stable")
    found = [r for part in parts for r in part.rejections]
    return StreamBlock(
        rows=pa.concat_tables([part.rows for part in parts]).take(pa.array(order)),
        encounters=np.concatenate([part.places for part in parts])[order],
        lines=block.lines[kept[order]],
        offered=block.offered,
        rejections=tuple(dict.fromkeys([*odd, *rejections, *found])),
    )


def build_person_rows(
    block: TextBlock, columns: Columns, facts: Sequence[Fact], visits: Visits, name: str
) -> StreamBlock:
    """Return the rows of persons, one for each of their stays."""
    persons = parse_ids(columns["person_id"])
    nul = find_nul(columns) & np.isin(persons, visits.persons)
    faults: list[Fault] = [
        ("person_id", "not a number", persons < 0),
        ("", "the text has a NUL character", nul),
    ]
    order = np.argsort(visits.persons, kind="stable")
    first = np.searchsorted(visits.persons[order], persons, side="left")
    last = np.searchsorted(visits.persons[order], persons, side="right")
    tables, lines, places = [], [], []
    for fact in facts:
        only = np.ones(len(block), bool) if fact.only is None else to_mask(fact.only)
        counts = np.where(only & ~nul, last - first, 0)
        at = np.repeat(np.arange(len(block)), counts)
        offsets = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        tables.append(_make_table(fact, columns, len(block), "person").take(pa.array(at)))
        lines.append(block.lines[at])
        places.append(order[first[at] + offsets] if len(at) else np.zeros(0, np.int64))
    return StreamBlock(
        pa.concat_tables(tables),
        np.concatenate(places),
        np.concatenate(lines),
        block.offered,
        (*block.rejections, *build_rejections(block, faults, name)),
    )


@dataclass(frozen=True)
class _Part:
    """Rows of one kind of fact; `kept` are their places in the block."""

    kept: Ints
    places: Ints
    rows: pa.Table
    rejections: list[Rejection]


def _build_fact_rows(
    block: TextBlock,
    columns: Columns,
    fact: Fact,
    places: Ints,
    visits: Visits,
    name: str,
    source: str,
) -> _Part:
    times, wrong_time, days = read_times(columns, fact.time)
    only = np.ones(len(block), bool) if fact.only is None else to_mask(fact.only)
    wrong, timed = to_mask(wrong_time), to_mask(pc.is_valid(times))
    persons = parse_ids(columns["person_id"])
    owners, free = places.copy(), (places == NO_ID) & timed
    if free.any():
        moments = pc.fill_null(times.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        owners[free] = visits.find_by_time(persons[free], moments[free], to_mask(days)[free])
    keep = (owners >= 0) & only
    # A line with neither a time nor a visit may be of one of these stays.
    lost = (places == NO_ID) & ~timed & only & np.isin(persons, visits.persons)
    rows = _make_table(fact, columns, len(block), source)
    field = f"{fact.time}_date"
    faults: list[Fault] = [
        (field, "not a date and time", wrong & (keep | lost)),
        (field, UNASSIGNED, lost & ~wrong),
        (field, "the date is missing", keep & ~timed & ~wrong),
        ("", "neither a concept nor a code names the event", to_mask(_is_empty(fact)) & keep),
        (
            "",
            f"the event is longer than {LONGEST_EVENT:,} bytes",
            to_mask(pc.greater(pc.binary_length(rows["event"]), LONGEST_EVENT)) & keep,
        ),
    ]
    kept = np.flatnonzero(keep & ~np.any([mask for *_, mask in faults], axis=0))
    return _Part(
        kept, owners[kept], rows.take(pa.array(kept)), build_rejections(block, faults, name)
    )


def _is_empty(fact: Fact) -> Text:
    return pc.equal(fact.name, "")


def _make_table(fact: Fact, columns: Columns, length: int, source: str) -> pa.Table:
    """Return the columns of a fact for every line of the block."""
    event = pc.utf8_lower(
        pc.binary_join_element_wise(
            *(_fill(part, length) for part in (fact.category, fact.name, fact.act)), ":"
        )
    )
    value, unit = _fill(fact.value, length), _fill(fact.unit, length)
    times = pa.nulls(length, CLOCK)
    if fact.time:
        times, _, days = read_times(columns, fact.time)
        unit = pc.if_else(days, join_texts(unit, _fill(DATE_ONLY, length), by=", "), unit)
    numbers = pa.nulls(length, pa.float64())
    if not fact.coded:
        numbers = parse_values(event, value)
        if fact.number is not None:
            numbers = pc.coalesce(to_array(parse_numbers(fact.number)), to_array(numbers))
    return pa.table(
        {
            "time": times,
            "result_time": pa.nulls(length, CLOCK),
            "event": event,
            "value": value,
            "numeric_value": numbers,
            "unit": unit,
            "source": pa.repeat(source, length),
            "time_kind": _fill(fact.kind, length),
        },
        schema=pa.schema([f for f in ROWS if f.name != "row_index"]),
    )


def _fill(text: Text | str, length: int) -> pa.Array:
    return pa.repeat(str(text), length) if isinstance(text, str) else to_array(text)


def find_nul(columns: Columns) -> Mask:
    """Return True for lines with a NUL character."""
    return np.any([to_mask(pc.match_substring(c, "\x00")) for c in columns.values()], axis=0)


def build_rejections(block: TextBlock, faults: Sequence[Fault], name: str) -> list[Rejection]:
    """Return a rejection for each line and reason."""
    return [
        Rejection(name, reason, block.line(i), field, _raw(block, i))
        for field, reason, mask in faults
        for i in np.flatnonzero(mask).tolist()
    ]


def _raw(block: TextBlock, i: int) -> str:
    text = ",".join(str(column[i].as_py())[:RAW_CHARACTERS] for column in block.columns.columns)
    return text.replace("\x00", "\\0")[:RAW_CHARACTERS]


def to_mask(values: Text) -> Mask:
    """Return Arrow's truth values as numpy's."""
    return np.asarray(to_array(values).to_numpy(zero_copy_only=False), bool)
