"""Rows and notes of a file, gathered until a block is full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ehr.formats.base import LONGEST_EVENT, NoteRecord, Rejection
from ehr.formats.columns import parse_values
from ehr.formats.fhir.elements import Fault
from ehr.formats.fhir.facts import Fact
from ehr.formats.fhir.times import mark_day
from ehr.formats.stream import NoteBlock, StreamBlock
from ehr.schema import ROWS

ROWS_AT_ONCE = 20_000
NOTE_CHARACTERS_AT_ONCE = 4 << 20
SCHEMA = pa.schema([field for field in ROWS if field.name != "row_index"])


class Gathered:
    """The next block of rows and the next block of notes."""

    def __init__(self) -> None:
        self.offered = 0
        self.offered_notes = 0
        self.rejections: dict[bool, list[Rejection]] = {False: [], True: []}
        self.refused: dict[bool, set[int]] = {False: set(), True: set()}
        self._rows: list[tuple[object, ...]] = []
        self._places: list[int] = []
        self._lines: list[int] = []
        self._notes: list[tuple[int, int, NoteRecord]] = []
        self._characters = 0

    @property
    def is_full(self) -> bool:
        return (
            len(self._rows) >= ROWS_AT_ONCE
            or self._characters >= NOTE_CHARACTERS_AT_ONCE
            or self.offered + self.offered_notes >= 2 * ROWS_AT_ONCE
        )

    def offer(self, *, note: bool) -> None:
        """Count one resource."""
        if note:
            self.offered_notes += 1
        else:
            self.offered += 1

    def reject(self, number: int, rejection: Rejection, *, note: bool) -> None:
        """Add a rejection of a resource."""
        self.rejections[note].append(rejection)
        self.refused[note].add(number)

    def add_facts(self, facts: Sequence[Fact], type: str, place: int, number: int) -> None:
        """Add the rows of a resource: all of them, or none. Raises Fault."""
        rows = []
        for event, moment, kind, value, unit, known, codes in facts:
            if len(event) > LONGEST_EVENT // 4 and len(event.encode()) > LONGEST_EVENT:
                raise Fault("code", f"the event is longer than {LONGEST_EVENT:,} bytes")
            unit = mark_day(unit, moment) if moment.day else unit
            source = f"{type} {codes}" if codes else type
            if "\x00" in f"{event}{value}{unit}{source}":
                raise Fault("", "the text has a NUL character")
            rows.append((moment.time, known.time, event, value, unit, source, kind.value))
        self._rows += rows
        self._places += [place] * len(rows)
        self._lines += [number] * len(rows)

    def add_note(self, note: NoteRecord, place: int, number: int) -> None:
        """Add a note."""
        self._notes.append((place, number, note))
        self._characters += len(note.text)

    def blocks(self) -> Iterator[StreamBlock | NoteBlock]:
        """Yield what was gathered, at most one block of each kind."""
        if self.offered:
            yield self._row_block()
        if self.offered_notes:
            yield NoteBlock(
                tuple(self._notes),
                self.offered_notes,
                tuple(self.rejections[True]),
                refused=frozenset(self.refused[True]),
                repeats_left_out=True,
            )

    def _row_block(self) -> StreamBlock:
        columns = list(zip(*self._rows, strict=True)) or [()] * 7
        times, known, events, values, units, sources, kinds = columns
        names, texts = pa.array(events, pa.string()), pa.array(values, pa.string())
        return StreamBlock(
            pa.table(
                {
                    "time": pa.array(times, SCHEMA.field("time").type),
                    "result_time": pa.array(known, SCHEMA.field("result_time").type),
                    "event": names,
                    "value": texts,
                    "numeric_value": parse_values(names, texts),
                    "unit": pa.array(units, pa.string()),
                    "source": pa.array(sources, pa.string()),
                    "time_kind": pa.array(kinds, pa.string()),
                },
                schema=SCHEMA,
            ),
            np.array(self._places, np.int64),
            np.array(self._lines, np.int64),
            self.offered,
            tuple(self.rejections[False]),
            refused=frozenset(self.refused[False]),
        )
