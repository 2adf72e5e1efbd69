"""MEDS: Parquet shards, version 0.4 and the flat 0.0.1 layout.

0.4 has the columns subject_id, time, code, numeric_value, text_value. 0.0.1 names the columns
patient_id or subject_id, timestamp or time, and value. A subject's encounters are its hospital
admissions (by hadm_id if the shards have that column). A data set without admissions has one
encounter for each subject, anchored at its first event. Rows outside every encounter and rows
without a time (static facts, in MEDS) are left out. Texts of codes that mean a note are notes
(`ehr.formats.meds.notes`). No Django here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.formats.base import (
    LONGEST_EVENT,
    FormatError,
    Rejection,
    WrongFile,
    describe_fault,
    safe_name,
)
from ehr.formats.columns import (
    HIDDEN,
    clean_text,
    first_present,
    make_texts,
    parse_numbers,
    parse_values,
)
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.mapping import CodeRule
from ehr.formats.meds.codes import BIRTH, Meaning, find_meaning, find_ruled_meaning
from ehr.formats.meds.notes import (
    NOTES,
    NotePlaces,
    Texts,
    find_kind,
    find_note_files,
    read_note_file,
)
from ehr.formats.meds.stays import EARLY, FAR, Marks, MedsStays, find_stays
from ehr.formats.parquet import column_names, convert_column, read_batches
from ehr.formats.stream import (
    EncounterList,
    Ints,
    NoteBlock,
    StreamBlock,
    StreamFile,
    Windows,
    name_choice,
    reject_absent,
)
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
VALUES = ("numeric_value", "text_value")
CODES = "metadata/codes.parquet"


Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Batch:
    """Good rows with the columns of 0.4, their lines, and the rejections.

    Lines count from 2, as in a CSV file with a header.
    """

    rows: pa.Table
    lines: Ints
    offered: int
    rejections: tuple[Rejection, ...]


class Meds:
    """A `StreamSource` over a data set's folder or one shard.

    `chosen`: only these cases; None: all. `rules`: the meanings of some codes.
    """

    def __init__(
        self,
        path: Path,
        chosen: Collection[str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        rules: Sequence[CodeRule] = (),
    ) -> None:
        """Raises FormatError if there is no shard."""
        self._rules = rules
        data = path / "data" if (path / "data").is_dir() else path
        self._root = data if data.is_dir() else data.parent
        self._beside = find_note_files(path)
        found = sorted(data.rglob("*.parquet")) if data.is_dir() else [data]
        shards = [shard for shard in found if shard not in self._beside]
        self._shards = [shard for shard in shards if shard.is_file() or describe_fault(shard)]
        self._codes = path / "metadata" / "codes.parquet"
        self._chosen = None if chosen is None else frozenset(chosen)
        self._limits = limits
        self._meanings: dict[str, Meaning] = {}
        self._kinds: dict[str, str] = {}
        if not self._shards:
            raise FormatError(
                f"{path} has no Parquet shard. MEDS is a folder data/ with .parquet files, or one"
                " such file."
            )

    @property
    def identity(self) -> str:
        """Which cases were chosen, and what the codes mean."""
        rules = f" {_digest(*map(str, self._rules))}" if self._rules else ""
        return name_choice("meds", self._chosen) + rules

    def encounters(self) -> EncounterList:
        """Return the encounters in order of subject and admission.

        Shards that cannot be read to their end are refused.
        """
        stays, refused, missing, noted = self._scan
        known = {e.case_id for e in stays.encounters} | {r.case_id for r in stays.rejections}
        absent = reject_absent(self._chosen, known, "data")
        there = self._codes.is_file() or describe_fault(self._codes)
        codes = () if there else (CODES,)
        return EncounterList(
            stays.encounters,
            (*stays.rejections, *absent),
            tuple(refused.values()),
            missing_files=(*codes, *missing, *(() if noted or self._beside else (NOTES,))),
        )

    def files(self) -> Sequence[StreamFile]:
        """The shards that can be read, then the notes."""
        codes = (self._codes,) if self._codes.is_file() else ()
        _, refused, _, noted = self._scan
        shards = [shard for shard in self._shards if shard not in refused]
        rows = [StreamFile(self._name(s), s, partial(self._blocks, s), codes) for s in shards]
        texts = [
            StreamFile(f"{self._name(s)}, notes", s, partial(self._notes, s), notes=True)
            for s in noted
        ]
        beside = [
            StreamFile(safe_name(path), path, self._read_beside, notes=True)
            for path in self._beside[:1]
        ]
        return [*rows, *texts, *beside]

    def _blocks(self, shard: Path) -> Iterator[StreamBlock]:
        """The rows of one shard. Raises WrongFile."""
        stays = self._scan[0]
        windows = Windows(stays.subjects, stays.starts, stays.ends)
        name = self._name(shard)
        for batch in self._batches(shard):
            noted = self._is_note(batch.rows)
            rows, lines = batch.rows.filter(pa.array(~noted)), batch.lines[~noted]
            times = pc.fill_null(rows["time"].cast(pa.int64()), FAR + 1).to_numpy()
            places = windows.find(rows["subject_id"].to_numpy(), times)
            kept = np.flatnonzero((places >= 0) & pc.not_equal(rows["code"], BIRTH).to_numpy())
            taken = self._rows(rows.take(pa.array(kept)))
            long = pc.greater(pc.binary_length(taken["event"]), LONGEST_EVENT).to_numpy()
            reason = f"the event is longer than {LONGEST_EVENT:,} bytes"
            rejections = [
                Rejection(name, reason, int(lines[kept[i]]), "code")
                for i in np.flatnonzero(long).tolist()
            ]
            kept, taken = kept[~long], taken.filter(pa.array(~long))
            yield StreamBlock(
                taken,
                places[kept],
                lines[kept],
                batch.offered - int(noted.sum()),
                (*batch.rejections, *rejections),
            )

    def _notes(self, shard: Path) -> Iterator[NoteBlock]:
        """The notes of one shard. Raises WrongFile."""
        for batch in self._batches(shard, text=True):
            noted = self._is_note(batch.rows)
            rows = batch.rows.filter(pa.array(noted))
            notes = Texts(
                rows["subject_id"].to_numpy(),
                rows["time"],
                rows["hadm_id"].to_pylist(),
                [self._kind(code) for code in rows["code"].to_pylist()],
                rows["text"].to_pylist(),
                batch.lines[noted],
            )
            yield self._places.make_block(notes, self._name(shard), len(rows))

    def _read_beside(self) -> Iterator[NoteBlock]:
        return read_note_file(self._beside, self._places, self._limits)

    def _is_note(self, rows: pa.Table) -> Mask:
        """Return which rows are notes: a text under a code of notes."""
        codes = [c for c in pc.unique(rows["code"]).to_pylist() if self._kind(c)]
        if not codes:
            return np.zeros(len(rows), bool)
        coded = pc.is_in(rows["code"], make_texts(*codes))
        return pc.and_(coded, pc.invert(pc.is_in(rows["text_value"], HIDDEN))).to_numpy()

    def _kind(self, code: str) -> str:
        if code not in self._kinds:
            self._kinds[code] = find_kind(code, self._rules)
        return self._kinds[code]

    @cached_property
    def _places(self) -> NotePlaces:
        return NotePlaces(self._scan[0], self._limits, strict=self._chosen is None)

    def _rows(self, batch: pa.Table) -> pa.Table:
        codes = batch["code"].combine_chunks().dictionary_encode()
        codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
        meanings = [self._meaning(code) for code in codes.dictionary.to_pylist()]
        events, kinds, units = (
            pa.array(column, pa.string()).take(codes.indices)
            for column in (
                [m.event for m in meanings],
                [m.kind.value for m in meanings],
                [m.unit for m in meanings],
            )
        )
        values, numbers = _values(batch, events)
        return pa.table(
            {
                "time": batch["time"],
                "result_time": pa.nulls(len(batch), CLOCK),
                "event": events,
                "value": values,
                "numeric_value": numbers,
                "unit": units,
                "source": pa.repeat("meds", len(batch)),
                "time_kind": kinds,
            },
            schema=pa.schema([f for f in ROWS if f.name != "row_index"]),
        )

    def _meaning(self, code: str) -> Meaning:
        if code not in self._meanings:
            known = find_ruled_meaning(code, self._rules)
            self._meanings[code] = known or find_meaning(code, self._descriptions.get(code, ""))
        return self._meanings[code]

    @cached_property
    def _descriptions(self) -> dict[str, str]:
        """Return the descriptions of codes in metadata/codes.parquet.

        Raises WrongFile if the file is damaged or ambiguous.
        """
        if reason := describe_fault(self._codes):
            raise WrongFile(Rejection(CODES, reason))
        if not self._codes.is_file():
            return {}
        missing = [c for c in ("code", "description") if c not in column_names(self._codes, CODES)]
        if missing:
            raise WrongFile(
                Rejection(CODES, f"the column {missing[0]} is missing", field=missing[0])
            )
        known: dict[str, str] = {}
        line = 1
        for batch in read_batches(
            self._codes, CODES, ("code", "description"), BATCH_ROWS, self._limits
        ):
            codes, texts = (
                convert_column(batch, c, clean_text, CODES).to_pylist()
                for c in ("code", "description")
            )
            for code, text in zip(codes, texts, strict=True):
                line += 1
                if known.setdefault(code, text) != text:
                    raise WrongFile(
                        Rejection(
                            CODES, "the code appears before with another description", line, "code"
                        )
                    )
                if "\x00" in text:
                    raise WrongFile(
                        Rejection(CODES, "the text has a NUL character", line, "description")
                    )
        return known

    def _batches(self, shard: Path, *, text: bool = False) -> Iterator[_Batch]:
        """The rows of one shard, checked. Raises WrongFile.

        `text`: with the column text, which is text_value as it is.
        """
        name = self._name(shard)
        names = self._columns(shard)
        for column in REQUIRED:
            if not names[column]:
                raise WrongFile(Rejection(name, f"the column {column} is missing", field=column))
        start = 0
        there = [n for n in names.values() if n]
        for batch in read_batches(shard, name, there, BATCH_ROWS, self._limits):
            how: dict[str, Callable[[pa.Array], pa.Array]] = {
                "subject_id": _number,
                "time": _convert_times,
            }
            columns = {
                c: (
                    convert_column(batch, n, how.get(c, clean_text), name)
                    if n
                    else pa.repeat("", batch.num_rows)
                )
                for c, n in names.items()
            }
            if text:
                columns["text"] = convert_column(batch, names["text_value"], _plain_text, name)
            yield _split_batch(pa.table(columns), name, start)
            start += batch.num_rows

    def _columns(self, shard: Path) -> dict[str, str]:
        """Return column of 0.4 → its name in the shard.

        The name is "" if the shard has no such column. Raises WrongFile.
        """
        there = column_names(shard, self._name(shard))
        return {c: next((n for n in known if n in there), "") for c, known in COLUMNS.items()}

    @cached_property
    def _scan(self) -> tuple[MedsStays, dict[Path, Rejection], tuple[str, ...], list[Path]]:
        """Return (encounters, refused shards, missing columns, shards with notes).

        A refused shard cannot be read; it says nothing about encounters. The columns are those of
        values.
        """
        marks: list[Marks] = []
        refused: dict[Path, Rejection] = {}
        missing: list[str] = []
        noted: list[Path] = []
        for shard in self._shards:
            mine, texts = Marks(), False
            if reason := describe_fault(shard):
                refused[shard] = Rejection(self._name(shard), reason)
                continue
            try:
                for batch in self._batches(shard):
                    mine.add(batch.rows)
                    texts = texts or bool(self._is_note(batch.rows).any())
                lacking = [c for c in VALUES if not self._columns(shard)[c]]
            except WrongFile as error:
                refused[shard] = error.rejection
            else:
                marks.append(mine)
                noted += [shard] if texts else []
                missing += (
                    [f"{self._name(shard)}, column {c}" for c in lacking]
                    if len(lacking) == len(VALUES)
                    else []
                )
        return find_stays(marks, self._chosen), refused, tuple(missing), noted

    def _name(self, shard: Path) -> str:
        parts = shard.relative_to(self._root).parts
        return "/".join(safe_name(Path(part)) for part in parts)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _number(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64())


def _plain_text(values: pa.Array) -> pa.Array:
    return pc.fill_null(values.cast(pa.string()), "")


def _convert_times(times: pa.Array) -> pa.Array:
    """Moments as naive local ones; nanoseconds are cut off."""
    return pc.cast(times, options=pc.CastOptions(CLOCK, allow_time_truncate=True))


def _values(batch: pa.Table, events: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return (value, number) of each row.

    The value is the text, or the number if the text is empty or masked. A number beside a text is
    stored with it, even if they disagree.
    """
    text, number = batch["text_value"], batch["numeric_value"]
    alone = pc.is_in(text, HIDDEN)
    stated = pc.if_else(pc.equal(number, "nan"), "", number)
    values = first_present(text, stated)
    # Nothing but a mask, or NaN: stored as it is.
    values = pc.if_else(pc.equal(values, ""), pc.if_else(pc.equal(text, ""), number, text), values)
    beside = pc.if_else(alone, pa.scalar(None, pa.float64()), parse_numbers(number))
    values = values.combine_chunks()
    return values, pc.coalesce(beside.combine_chunks(), parse_values(events, values))


def _has_lost_number(batch: pa.Table) -> pa.ChunkedArray:
    """Return which rows state beside their text what is no finite number.

    The row has one value; NaN states nothing.
    """
    text, number = batch["text_value"], batch["numeric_value"]
    nothing = pc.or_(pc.is_in(number, HIDDEN), pc.equal(number, "nan"))
    agrees = pc.or_(nothing, pc.or_(pc.is_in(text, HIDDEN), pc.equal(text, number)))
    return pc.and_(pc.invert(agrees), pc.is_null(parse_numbers(number)))


def _split_batch(batch: pa.Table, name: str, start: int) -> _Batch:
    """Split into good rows and rejections.

    `start` is the number of earlier rows of the shard.
    """
    moments = batch["time"].cast(pa.int64())
    faults = (
        ("subject_id", "the row names no subject", pc.is_null(batch["subject_id"])),
        ("code", "the code is empty", pc.equal(batch["code"], "")),
        (
            "time",
            "the time is outside the calendar",
            pc.or_(pc.less(moments, EARLY), pc.greater(moments, FAR)),
        ),
        (
            "numeric_value",
            "not a finite number, and text_value is another text",
            _has_lost_number(batch),
        ),
        *(
            (c, "the text has a NUL character", pc.match_substring(batch[c], "\x00"))
            for c in ("code", "numeric_value", "text_value", "hadm_id")
        ),
    )
    masks = [
        (field, reason, pc.fill_null(mask, False).to_numpy()) for field, reason, mask in faults
    ]
    lines = start + 2 + np.arange(len(batch))
    bad = np.any([mask for *_, mask in masks], axis=0)
    if not bad.any():
        return _Batch(batch, lines, len(batch), ())
    rejections = [
        Rejection(name, reason, int(lines[i]), field)
        for field, reason, mask in masks
        for i in np.flatnonzero(mask).tolist()
    ]
    return _Batch(batch.filter(pa.array(~bad)), lines[~bad], len(batch), tuple(rejections))
