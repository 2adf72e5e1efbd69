"""The visits of the CDM that are hospital stays.

A line with a fault is a rejected visit, never one with other times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.formats.base import EncounterRecord, Rejection, safe_name
from ehr.formats.columns import Text, parse_ids
from ehr.formats.delimited import TextBlock
from ehr.formats.limits import Limits
from ehr.formats.omop.files import clean_columns, read_blocks
from ehr.formats.omop.tables import STAYS, VISIT_OPTIONAL, VISIT_REQUIRED
from ehr.formats.omop.times import read_times
from ehr.formats.stream import Ints, Windows

DAY = 86_400_000_000
LAST_MINUTE = timedelta(hours=23, minutes=59)


@dataclass(frozen=True)
class Visits:
    """The stays in file order with their lines, and the rejected lines.

    `known` are the ids of all visits.
    """

    encounters: tuple[EncounterRecord, ...]
    lines: Ints
    known: Ints
    rejections: tuple[Rejection, ...]

    @cached_property
    def persons(self) -> Ints:
        """The person of each stay."""
        return np.array([int(e.subject_key) for e in self.encounters], np.int64)

    @cached_property
    def ids(self) -> Ints:
        """The id of each stay."""
        return np.array([int(e.case_id) for e in self.encounters], np.int64)

    def find_lines(self, lines: Ints) -> Ints:
        """Return the place of the stay that each line is, -1 for no stay."""
        if not len(self.lines):
            return np.full(len(lines), -1, np.int64)
        at = np.clip(np.searchsorted(self.lines, lines), 0, len(self.lines) - 1)
        return np.where(self.lines[at] == lines, at, -1)

    def find(self, ids: Ints) -> Ints:
        """Return the place of the stay with each id, -1 for no stay."""
        order, ordered = self._by_id
        if not len(order):
            return np.full(len(ids), -1, np.int64)
        at = np.clip(np.searchsorted(ordered, ids), 0, len(order) - 1)
        return np.where(ordered[at] == ids, order[at], -1)

    def find_by_time(self, persons: Ints, times: Ints, days: NDArray[np.bool_]) -> Ints:
        """Return the place of each person's stay at a time or on a day."""
        clock, whole = self._windows
        return np.where(days, whole.find(persons, times), clock.find(persons, times))

    @cached_property
    def _by_id(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.ids)
        return order, self.ids[order]

    @cached_property
    def _windows(self) -> tuple[Windows, Windows]:
        starts = _microseconds([e.admitted_at for e in self.encounters])
        ends = _microseconds([e.discharged_at or e.admitted_at for e in self.encounters])
        return (
            Windows(self.persons, starts, ends),
            Windows(self.persons, starts - starts % DAY, ends),
        )


def read_visits(
    path: Path, persons: Ints | None, chosen: frozenset[str] | None, limits: Limits
) -> Visits:
    """Return the stays, or the chosen visits. Raises WrongFile.

    `persons` are the persons of the table `person`, None without the table.
    """
    name = safe_name(path)
    encounters: list[EncounterRecord] = []
    lines: list[int] = []
    rejections: list[Rejection] = []
    known, seen = [np.zeros(0, np.int64)], set[str]()
    for block in read_blocks(path, VISIT_REQUIRED, VISIT_OPTIONAL, limits):
        rejections += block.rejections
        columns = clean_columns(block)
        ids = parse_ids(columns["visit_occurrence_id"])
        known.append(ids)
        for row in _rows(block, columns, ids, chosen):
            fault = row.fault(seen, persons)
            if fault:
                seen.add(row.case_id)
                rejections.append(
                    Rejection(name, fault[1], row.line, fault[0], case_id=row.case_id)
                )
                continue
            assert row.start is not None
            seen.add(row.case_id)
            lines.append(row.line)
            encounters.append(
                EncounterRecord(row.case_id, row.start, row.end, subject_key=str(row.person))
            )
    return Visits(
        tuple(encounters),
        np.array(lines, np.int64),
        np.unique(np.concatenate(known)),
        tuple(rejections),
    )


@dataclass(frozen=True)
class _Row:
    line: int
    case_id: str
    person: int
    concept: int
    start: datetime | None
    end: datetime | None
    wrong: str

    def fault(self, seen: set[str], persons: Ints | None) -> tuple[str, str] | None:
        """Return (field, reason) of the first fault.

        `seen` are the visits before this one.
        """
        if not self.case_id:
            return "visit_occurrence_id", "not a number"
        if self.case_id in seen:
            return "visit_occurrence_id", "the visit appears twice"
        if self.person < 0:
            return "person_id", "not a number"
        if persons is not None and not np.isin(self.person, persons):
            return "person_id", "the table person has no such person"
        if self.concept < 0:
            return "visit_concept_id", "not a number"
        if self.wrong:
            return self.wrong, "not a date and time"
        if self.start is None:
            return "visit_start_date", "the date is missing"
        if self.end is not None and self.end < self.start:
            return "visit_end_date", "before the start"
        return None


def _rows(
    block: TextBlock, columns: dict[str, Text], ids: Ints, chosen: frozenset[str] | None
) -> Iterator[_Row]:
    """Yield the lines that may be stays."""
    concepts = parse_ids(columns["visit_concept_id"])
    people = parse_ids(columns["person_id"])
    stays = np.array([int(concept) for concept in STAYS])
    wanted = (concepts < 0) | np.isin(concepts, stays)
    if chosen is not None:
        wanted = np.array([str(i) in chosen for i in ids.tolist()], bool)
    starts, ends = read_times(columns, "visit_start"), read_times(columns, "visit_end")
    nul = np.any([pc.match_substring(c, "\x00").to_numpy() for c in columns.values()], axis=0)
    for i in np.flatnonzero(wanted).tolist():
        wrong = "visit_start_date" * starts[1][i].as_py() or "visit_end_date" * ends[1][i].as_py()
        end = ends[0][i].as_py()
        yield _Row(
            block.line(i),
            str(ids[i]) if ids[i] >= 0 and not nul[i] else "",
            int(people[i]),
            int(concepts[i]),
            starts[0][i].as_py(),
            end + LAST_MINUTE if end is not None and ends[2][i].as_py() else end,
            wrong,
        )


def _microseconds(times: list[datetime]) -> Ints:
    return np.array(times, "datetime64[us]").astype(np.int64)
