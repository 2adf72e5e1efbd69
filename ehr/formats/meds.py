"""MEDS: Parquet shards of (subject_id, time, code, numeric_value, text_value), version 0.4, and the flat 0.0.1 layout.

0.0.1 names the columns patient_id or subject_id, timestamp or time, and value. A subject's encounters are its hospital admissions
(by hadm_id where the shards have that column); a data set without admissions has one encounter a subject, anchored at its
first event. Rows outside every encounter and those without a time (MEDS keeps static facts so) are left out. No Django here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ehr.formats.base import EncounterRecord, FormatError, Rejection
from ehr.formats.columns import numbers_of, text_of
from ehr.formats.csv_blocks import WrongFile
from ehr.formats.meds_codes import ADMISSION, BIRTH, DISCHARGE, REGISTRATION, Meaning, meaning_of
from ehr.formats.stream import EncounterList, Ints, NoteBlock, StreamBlock, StreamFile, Windows
from ehr.schema import CLOCK, ROWS

BATCH_ROWS = 100_000
#: column of 0.4 → its names, newest first.
COLUMNS = {
    "subject_id": ("subject_id", "patient_id"),
    "time": ("time", "timestamp"),
    "code": ("code",),
    "numeric_value": ("numeric_value", "value"),
    "text_value": ("text_value",),
    "hadm_id": ("hadm_id",),
}
REQUIRED = ("subject_id", "time", "code")
LONGEST_ID = 100
LONG_ID = f"the hadm_id is longer than {LONGEST_ID} characters"
FAR = np.datetime64("9999-12-31", "us").astype(np.int64)
EARLY = np.datetime64("0001-01-02", "us").astype(np.int64)


class Meds:
    """A `StreamSource` over a data set's folder or one shard. `chosen`: only these cases; None: all."""

    def __init__(self, path: Path, chosen: Collection[str] | None = None) -> None:
        """Raises FormatError where there is no shard."""
        data = path / "data" if (path / "data").is_dir() else path
        self._root = data if data.is_dir() else data.parent
        self._shards = sorted(data.rglob("*.parquet")) if data.is_dir() else [data]
        self._codes = path / "metadata" / "codes.parquet"
        self._chosen = None if chosen is None else frozenset(chosen)
        self._meanings: dict[str, Meaning] = {}
        if not self._shards or not self._shards[0].is_file():
            raise FormatError(f"{path} holds no Parquet shard. MEDS is a folder data/ with .parquet files, or one such file.")

    @property
    def identity(self) -> str:
        """Which cases were chosen."""
        return "meds " + ("all" if self._chosen is None else hashlib.sha256("\0".join(sorted(self._chosen)).encode()).hexdigest())

    def encounters(self) -> EncounterList:
        """In order of subject and admission. Raises WrongFile."""
        missing = () if self._codes.is_file() else ("metadata/codes.parquet",)
        return EncounterList(self._stays[0], self._stays[2], missing)

    def files(self) -> Sequence[StreamFile]:
        """The shards."""
        beside = (self._codes,) if self._codes.is_file() else ()
        return [StreamFile(self._name(shard), shard, partial(self._blocks, shard), beside) for shard in self._shards]

    def notes(self) -> Iterator[NoteBlock]:
        """MEDS keeps no notes as such."""
        return iter(())

    def _blocks(self, shard: Path) -> Iterator[StreamBlock]:
        """The rows of one shard. Raises WrongFile."""
        windows = Windows(*self._stays[1])
        for batch, rejections in self._batches(shard):
            times = pc.fill_null(batch["time"].cast(pa.int64()), FAR + 1).to_numpy()
            places = windows.find(batch["subject_id"].to_numpy(), times)
            kept = np.flatnonzero((places >= 0) & pc.not_equal(batch["code"], BIRTH).to_numpy())
            yield StreamBlock(self._rows(batch.take(pa.array(kept))), places[kept], rejections)

    def _rows(self, batch: pa.Table) -> pa.Table:
        codes = batch["code"].combine_chunks().dictionary_encode()
        codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
        meanings = [self._meaning(code) for code in codes.dictionary.to_pylist()]
        events, kinds, units = (
            pa.array(column, pa.string()).take(codes.indices)
            for column in ([m.event for m in meanings], [m.kind.value for m in meanings], [m.unit for m in meanings])
        )
        values = pc.if_else(pc.equal(batch["text_value"], ""), text_of(batch["numeric_value"]), batch["text_value"])
        return pa.table(
            {
                "time": batch["time"],
                "result_time": pa.nulls(len(batch), CLOCK),
                "event": events,
                "value": values,
                "numeric_value": numbers_of(events, values.combine_chunks()),
                "unit": units,
                "source": pa.repeat("meds", len(batch)),
                "time_kind": kinds,
            },
            schema=pa.schema([f for f in ROWS if f.name != "row_index"]),
        )

    def _meaning(self, code: str) -> Meaning:
        if code not in self._meanings:
            self._meanings[code] = meaning_of(code, self._descriptions.get(code, ""))
        return self._meanings[code]

    @cached_property
    def _descriptions(self) -> dict[str, str]:
        if not self._codes.is_file():
            return {}
        try:
            table = pq.read_table(self._codes)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
            raise WrongFile(Rejection("metadata/codes.parquet", "the file cannot be read as Parquet")) from error
        if not {"code", "description"} <= set(table.column_names):
            return {}
        return dict(zip(text_of(table["code"]).to_pylist(), text_of(table["description"]).to_pylist(), strict=True))

    def _batches(self, shard: Path) -> Iterator[tuple[pa.Table, tuple[Rejection, ...]]]:
        """(good rows with the columns of 0.4, the others); texts without nulls and NUL characters. Raises WrongFile."""
        name = self._name(shard)
        try:
            file = pq.ParquetFile(shard)
            names = {c: next((n for n in known if n in file.schema_arrow.names), "") for c, known in COLUMNS.items()}
            for column in REQUIRED:
                if not names[column]:
                    raise WrongFile(Rejection(name, f"the column {column} is missing", field=column))
            start = 0
            for batch in file.iter_batches(BATCH_ROWS, columns=[n for n in names.values() if n]):
                given = {c: batch.column(n) if n else pa.nulls(batch.num_rows, pa.string()) for c, n in names.items()}
                texts = {c: pc.replace_substring(text_of(given[c]), "\x00", "") for c in ("code", "text_value", "hadm_id")}
                numbers = {"subject_id": given["subject_id"].cast(pa.int64()), "numeric_value": given["numeric_value"]}
                times = pc.cast(given["time"], options=pc.CastOptions(CLOCK, allow_time_truncate=True))
                yield _sound(pa.table({**texts, **numbers, "time": times}), name, start)
                start += batch.num_rows
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, UnicodeDecodeError) as error:
            raise WrongFile(Rejection(name, "the file cannot be read as a MEDS shard")) from error

    @cached_property
    def _stays(self) -> tuple[list[EncounterRecord], tuple[Ints, Ints, Ints], tuple[Rejection, ...]]:
        """(encounters, their subjects, first and last moments, rejections)."""
        marks = _Marks()
        for shard in self._shards:
            for batch, _ in self._batches(shard):
                marks.add(batch)
        encounters, bounds = [], []
        seen: set[str] = set()
        rejections: list[Rejection] = []
        for record, start, end in marks.stays():
            if self._chosen is not None and record.case_id not in self._chosen:
                continue
            fault = "two subjects have this admission" if record.case_id in seen else LONG_ID if len(record.case_id) > LONGEST_ID else ""
            if fault:
                rejections.append(Rejection("data", fault, field="hadm_id", case_id=record.case_id[:LONGEST_ID]))
            else:
                seen.add(record.case_id)
                encounters.append(record)
                bounds.append((int(record.subject_key), start, end))
        columns = np.array(bounds, np.int64).reshape(-1, 3).T
        return encounters, (columns[0], columns[1], columns[2]), tuple(rejections)

    def _name(self, shard: Path) -> str:
        return str(shard.relative_to(self._root))


class _Marks:
    """What tells a subject's encounters apart, collected over all shards: admissions, discharges, registrations, first events."""

    def __init__(self) -> None:
        self._marks: list[pa.Table] = []
        self._seen: dict[int, tuple[datetime, datetime]] = {}

    def add(self, batch: pa.Table) -> None:
        """Look through one batch."""
        batch = batch.select(["subject_id", "time", "code", "hadm_id"]).filter(pc.is_valid(batch["time"]))
        self._marks.append(batch.filter(pc.match_substring_regex(batch["code"], f"^({ADMISSION}|{DISCHARGE}|{REGISTRATION})(//|$)")))
        others = batch.filter(pc.not_equal(batch["code"], BIRTH))
        for row in others.group_by("subject_id").aggregate([("time", "min"), ("time", "max")]).to_pylist():
            first, last = self._seen.get(row["subject_id"], (row["time_min"], row["time_max"]))
            self._seen[row["subject_id"]] = min(first, row["time_min"]), max(last, row["time_max"])

    def stays(self) -> Iterator[tuple[EncounterRecord, int, int]]:
        """(encounter, first moment, last moment), in order of subject and time; microseconds since 1970."""
        marks = pa.concat_tables(self._marks).sort_by([("subject_id", "ascending"), ("time", "ascending")]).to_pylist()
        if not any(mark["code"].startswith(ADMISSION) for mark in marks):
            for subject, (first, last) in sorted(self._seen.items()):
                yield EncounterRecord(str(subject), first, anchor="presentation", subject_key=str(subject)), _micro(first), _micro(last)
            return
        by_subject: dict[int, list[dict[str, object]]] = {}
        for mark in marks:
            by_subject.setdefault(mark["subject_id"], []).append(mark)
        for subject, mine in by_subject.items():
            yield from _stays_of(subject, list(_told_once(mine)))


def _told_once(marks: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    """The marks without admissions that were there already: some extractions repeat one with each of its kinds."""
    seen: set[object] = set()
    for mark in marks:
        if str(mark["code"]).startswith(ADMISSION) and mark["hadm_id"]:
            if mark["hadm_id"] in seen:
                continue
            seen.add(mark["hadm_id"])
        yield mark


def _stays_of(subject: int, marks: list[dict[str, object]]) -> Iterator[tuple[EncounterRecord, int, int]]:
    """Each admission with the discharge before the next one, and the registration after the discharge before it."""
    registered: datetime | None = None
    number = 0
    for i, mark in enumerate(marks):
        code, time = str(mark["code"]), mark["time"]
        assert isinstance(time, datetime)
        if code.startswith(REGISTRATION):
            registered = registered or time
        elif code.startswith(DISCHARGE):
            registered = None
        else:
            number += 1
            following = marks[i + 1 :]
            until = next((m for m in following if not str(m["code"]).startswith(REGISTRATION)), None)
            left = until["time"] if until is not None and str(until["code"]).startswith(DISCHARGE) else None
            case_id = str(mark["hadm_id"] or f"{subject}-{number}")
            record = EncounterRecord(case_id, time, left if isinstance(left, datetime) else None, code[:200], subject_key=str(subject))
            end = _micro(left) if isinstance(left, datetime) else (_micro(until["time"]) - 1 if until else int(FAR))
            yield record, _micro(registered or time), end
            registered = None


def _sound(batch: pa.Table, name: str, start: int) -> tuple[pa.Table, tuple[Rejection, ...]]:
    """(good rows, the others); `start` rows of the shard came before. "line" is the row's number, counted from 2 as in a CSV file."""
    moments = batch["time"].cast(pa.int64())
    faults = (
        ("subject_id", "the row names no subject", pc.is_null(batch["subject_id"])),
        ("code", "the code is empty", pc.equal(batch["code"], "")),
        ("time", "the time is outside the calendar", pc.or_(pc.less(moments, EARLY), pc.greater(moments, FAR))),
    )
    masks = [(field, reason, pc.fill_null(mask, False).to_numpy()) for field, reason, mask in faults]
    bad = np.any([mask for *_, mask in masks], axis=0)
    if not bad.any():
        return batch, ()
    rejections = [Rejection(name, reason, start + i + 2, field) for field, reason, mask in masks for i in np.flatnonzero(mask).tolist()]
    return batch.filter(pa.array(~bad)), tuple(rejections)


def _micro(time: object) -> int:
    return int(np.datetime64(time, "us").astype(np.int64))  # type: ignore[call-overload]
