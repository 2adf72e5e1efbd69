"""The encounters of the subjects of a MEDS data set.

They are a subject's admissions, or all its events if it has no admission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ehr.formats.base import LONGEST_CASE_ID, LONGEST_TITLE, EncounterRecord, Rejection
from ehr.formats.meds.codes import ADMISSION, BIRTH, DISCHARGE, REGISTRATION
from ehr.formats.stream import Ints

FAR = int(np.datetime64("9999-12-31", "us").astype(np.int64))
EARLY = int(np.datetime64("0001-01-02", "us").astype(np.int64))
_Mark = dict[str, object]


@dataclass(frozen=True)
class MedsStays:
    """Encounters and, parallel to them, their subjects and time bounds.

    The bounds are the first and last moments, in microseconds since 1970.
    """

    encounters: tuple[EncounterRecord, ...]
    subjects: Ints
    starts: Ints
    ends: Ints
    rejections: tuple[Rejection, ...]


class Marks:
    """The events of a shard that separate a subject's encounters.

    These are admissions, discharges, registrations, and first and last events.
    """

    def __init__(self) -> None:
        self.marks: list[pa.Table] = []
        self.seen: dict[int, tuple[datetime, datetime]] = {}

    def add(self, batch: pa.Table) -> None:
        """Look through one batch."""
        batch = batch.select(["subject_id", "time", "code", "hadm_id"]).filter(
            pc.is_valid(batch["time"])
        )
        self.marks.append(
            batch.filter(
                pc.match_substring_regex(
                    batch["code"], f"^({ADMISSION}|{DISCHARGE}|{REGISTRATION})(//|$)"
                )
            )
        )
        others = batch.filter(pc.not_equal(batch["code"], BIRTH))
        for row in (
            others.group_by("subject_id").aggregate([("time", "min"), ("time", "max")]).to_pylist()
        ):
            first, last = self.seen.get(row["subject_id"], (row["time_min"], row["time_max"]))
            self.seen[row["subject_id"]] = min(first, row["time_min"]), max(last, row["time_max"])


def find_stays(marks: Sequence[Marks], chosen: frozenset[str] | None) -> MedsStays:
    """Return the encounters in order of subject and time, with rejections."""
    encounters: list[EncounterRecord] = []
    bounds: list[tuple[int, int, int]] = []
    seen: set[str] = set()
    rejections: list[Rejection] = []
    for record, start, end in _stays(marks):
        if chosen is not None and record.case_id not in chosen:
            continue
        fault = _fault(record, seen)
        if fault:
            rejections.append(
                Rejection(
                    "data", fault[1], field=fault[0], case_id=record.case_id[:LONGEST_CASE_ID]
                )
            )
        else:
            seen.add(record.case_id)
            encounters.append(record)
            bounds.append((int(record.subject_key), start, end))
    columns = np.array(bounds, np.int64).reshape(-1, 3).T
    return MedsStays(tuple(encounters), columns[0], columns[1], columns[2], tuple(rejections))


def _fault(record: EncounterRecord, seen: set[str]) -> tuple[str, str] | None:
    """(field, reason) why the encounter cannot be taken."""
    if record.case_id in seen:
        return "hadm_id", "two subjects have this admission"
    if len(record.case_id) > LONGEST_CASE_ID or not record.case_id.isprintable():
        return (
            "hadm_id",
            f"longer than {LONGEST_CASE_ID} characters, or with characters that cannot be shown",
        )
    if len(record.title) > LONGEST_TITLE:
        return "code", f"the code of the admission is longer than {LONGEST_TITLE} characters"
    if record.discharged_at is not None and record.discharged_at < record.admitted_at:
        return "time", "discharged before the admission"
    return None


def _stays(shards: Sequence[Marks]) -> Iterator[tuple[EncounterRecord, int, int]]:
    """(encounter, first moment, last moment)."""
    tables = [table for shard in shards for table in shard.marks]
    if not tables:
        return
    marks = (
        pa.concat_tables(tables)
        .sort_by([("subject_id", "ascending"), ("time", "ascending")])
        .to_pylist()
    )
    if not any(_has_code(mark, ADMISSION) for mark in marks):
        yield from _whole_subjects(shards)
        return
    by_subject: dict[int, list[_Mark]] = {}
    for mark in marks:
        by_subject.setdefault(mark["subject_id"], []).append(mark)
    for subject, mine in by_subject.items():
        yield from _find_subject_stays(subject, list(_drop_repeats(mine)))


def _whole_subjects(shards: Sequence[Marks]) -> Iterator[tuple[EncounterRecord, int, int]]:
    seen: dict[int, tuple[datetime, datetime]] = {}
    for shard in shards:
        for subject, (first, last) in shard.seen.items():
            known = seen.get(subject, (first, last))
            seen[subject] = min(first, known[0]), max(last, known[1])
    for subject, (first, last) in sorted(seen.items()):
        yield (
            EncounterRecord(str(subject), first, anchor="presentation", subject_key=str(subject)),
            _to_microseconds(first),
            _to_microseconds(last),
        )


def _drop_repeats(marks: list[_Mark]) -> Iterator[_Mark]:
    """Yield the marks without repeated admissions.

    Some extractions repeat an admission with each of its kinds.
    """
    seen: set[object] = set()
    for mark in marks:
        if _has_code(mark, ADMISSION) and mark["hadm_id"]:
            if mark["hadm_id"] in seen:
                continue
            seen.add(mark["hadm_id"])
        yield mark


def _find_subject_stays(
    subject: int, marks: list[_Mark]
) -> Iterator[tuple[EncounterRecord, int, int]]:
    """Yield each admission with its discharge and registration.

    The discharge comes before the next admission, the registration after the previous discharge.
    """
    registered: datetime | None = None
    number = 0
    for i, mark in enumerate(marks):
        time = mark["time"]
        assert isinstance(time, datetime)
        if _has_code(mark, REGISTRATION):
            registered = registered or time
        elif _has_code(mark, DISCHARGE):
            registered = None
        else:
            number += 1
            until = next((m for m in marks[i + 1 :] if not _has_code(m, REGISTRATION)), None)
            discharge = until["time"] if until is not None and _has_code(until, DISCHARGE) else None
            left = discharge if isinstance(discharge, datetime) else None
            case_id = str(mark["hadm_id"] or f"{subject}-{number}")
            record = EncounterRecord(
                case_id, time, left, str(mark["code"]), subject_key=str(subject)
            )
            end = (
                _to_microseconds(left)
                if left
                else (_to_microseconds(until["time"]) - 1 if until else FAR)
            )
            yield record, _to_microseconds(registered or time), end
            registered = None


def _has_code(mark: _Mark, code: str) -> bool:
    return str(mark["code"]).startswith(code)


def _to_microseconds(time: object) -> int:
    return int(np.datetime64(time, "us").astype(np.int64))  # type: ignore[call-overload]
