"""Clinician-authored timelines that come with a case (`reference.jsonl`), as an inventory and a
timeline of their own.

Taken through the import's hook, inside the transaction of the case. Each line is checked by itself;
a file with a faulty line gives no timeline at all, because a reference that lacks occurrences would
flatter every method that is measured against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehr.formats.base import storable
from ehr.formats.strict_json import BadJson, read_object
from ehr.models import Encounter, Note, SourceRow
from ehr.report import CaseReport
from timelines import domain, models
from timelines.domain import Entry, InvariantError, Polarity, TaggedSpan, TimelineKind
from timelines.pipeline.uids import UidsUsedUp, assign_uids, identities_of, uid_rng
from timelines.runs import storage

FILE = "reference.jsonl"
SOURCE = "reference"
DECIDED_BY = "reference author"
REQUIRED = ("start", "end", "mention", "time", "lower", "upper", "known")
#: `text_time` is the author's estimate from the note alone, which is not stored.
OPTIONAL = ("text_time", "polarity", "rows", "why")
LONGEST_FILE = 50_000_000
LARGEST_ROW = 2**31 - 1


@dataclass(frozen=True)
class Fault:
    """What is wrong with a line; never quotes it."""

    line: int
    field: str
    reason: str


@dataclass(frozen=True)
class ReferenceLine:
    """One authored occurrence. Hours from the anchor, None where it cannot be placed; `rows`
    evidence this very occurrence.
    """

    span: TaggedSpan
    time: float | None
    lower: float | None
    upper: float | None
    known: bool
    rows: tuple[int, ...]
    why: str

    def entry(self, uid: str) -> Entry:
        return Entry(
            uid, self.time, self.lower, self.upper, self.known, (), DECIDED_BY, self.why, self.rows
        )


def import_reference(encounter: Encounter, folder: Path, report: CaseReport) -> None:
    """Import hook: the case's reference timeline where its folder has one. Faults go to the report,
    with line and field.
    """
    path = folder / FILE
    if not path.is_file():
        return
    note = storage.note_of(encounter)
    if note is None:
        return
    rows = SourceRow.objects.filter(dataset_id=encounter.dataset_id, encounter_id=encounter.pk)
    known_rows = set(rows.values_list("row_index", flat=True))
    lines: list[ReferenceLine] = []
    content = path.read_bytes() if path.stat().st_size <= LONGEST_FILE else b""
    try:
        lines, faults = read_reference(
            content.decode("utf-8"), storage.checked_text(note), known_rows
        )
    except UnicodeDecodeError as error:
        faults = [Fault(content[: error.start].count(b"\n") + 1, "", "the line is not UTF-8 text")]
    if not lines and not faults:
        faults = [Fault(1, "", f"the file is empty, or longer than {LONGEST_FILE:,} bytes")]
    for fault in faults:
        report.reject(file=FILE, line=fault.line, field=fault.field, reason=fault.reason)
    if lines and not faults:
        try:
            save_reference(note=note, lines=lines)
        except UidsUsedUp as error:
            report.reject(file=FILE, line=len(lines), field="", reason=str(error))


def save_reference(*, note: Note, lines: list[ReferenceLine]) -> models.Timeline:
    """The sealed inventory of a note and the timeline over it, in the order of the lines."""
    spans = [line.span for line in lines]
    rng = uid_rng(0, f"{note.sha256}:{SOURCE}", identities_of(spans))
    inventory = assign_uids(spans, rng=rng, in_use=storage.uids_in_use(note.pk))
    entries = [line.entry(o.uid) for line, o in zip(lines, inventory, strict=True)]
    timeline = domain.Timeline.complete(inventory, entries, TimelineKind.REFERENCE)
    stored = storage.save_inventory(
        note=note, inventory=inventory, origin=models.Inventory.Origin.REFERENCE
    )
    return storage.save_timeline(timeline=timeline, inventory=stored, source=SOURCE)


def read_reference(
    text: str, note: str, known_rows: set[int]
) -> tuple[list[ReferenceLine], list[Fault]]:
    """The lines of a file that hold, and what is wrong with the others."""
    lines: list[ReferenceLine] = []
    faults: list[Fault] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            data = read_object(raw)
        except BadJson as error:
            faults.append(Fault(number, "", str(error)))
            continue
        found = [Fault(number, field, reason) for field, reason in _faults(data, note, known_rows)]
        faults += found
        if not found:
            lines.append(_line(data))
    return lines, faults


def _faults(data: Mapping[str, Any], note: str, known_rows: set[int]) -> Iterator[tuple[str, str]]:
    """(field, reason) of everything wrong with a line."""
    missing = [name for name in REQUIRED if name not in data]
    yield from ((name, "missing") for name in missing)
    if missing:
        return
    unknown = len(data.keys() - {*REQUIRED, *OPTIONAL})
    if unknown:
        yield "", f"fields with unknown names: {unknown}"
    start, end = data["start"], data["end"]
    if not (_is_index(start) and _is_index(end)):
        yield "start", "start and end are whole numbers from 0"
    elif not start < end <= len(note):
        yield (
            "end",
            f"the span [{start}, {end}) does not lie inside the note of {len(note)} characters",
        )
    if (
        not isinstance(data["mention"], str)
        or not data["mention"].strip()
        or not storable(data["mention"])
    ):
        yield "mention", "no text"
    why = data.get("why")
    if why is not None and not (isinstance(why, str) and storable(why)):
        yield "why", "not text that can be stored"
    if data["known"] not in (0, 1):
        yield "known", "neither 0 nor 1"
    if data.get("polarity", Polarity.PRESENT.value) not in tuple(Polarity):
        yield "polarity", f"not one of {', '.join(Polarity)}"
    yield from _time_faults(data)
    yield from _row_faults([] if data.get("rows") is None else data["rows"], known_rows)


def _time_faults(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    wrong = [name for name in ("time", "lower", "upper") if not _is_hours(data[name])]
    yield from ((name, "neither a number of hours nor null") for name in wrong)
    if not wrong:
        try:
            Entry("0000", data["time"], data["lower"], data["upper"])
        except InvariantError:
            yield "lower", "the bounds do not hold the time between them"


def _row_faults(rows: object, known_rows: set[int]) -> Iterator[tuple[str, str]]:
    if not isinstance(rows, list) or not all(_is_index(row) and row <= LARGEST_ROW for row in rows):
        yield "rows", "not a list of row numbers"
        return
    unknown = [row for row in rows if row not in known_rows]
    if unknown:
        yield "rows", f"the record has no row {', '.join(str(row) for row in unknown[:5])}"


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_hours(value: object) -> bool:
    if value is None:
        return True
    try:
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        )
    except OverflowError:
        return False


def _line(data: Mapping[str, Any]) -> ReferenceLine:
    polarity = Polarity(data.get("polarity", Polarity.PRESENT.value))
    return ReferenceLine(
        span=TaggedSpan(data["start"], data["end"], data["mention"], polarity),
        time=_hours(data["time"]),
        lower=_hours(data["lower"]),
        upper=_hours(data["upper"]),
        known=bool(data["known"]),
        rows=tuple(dict.fromkeys(data.get("rows") or [])),
        why=data.get("why") or "",
    )


def _hours(value: float | None) -> float | None:
    return None if value is None else float(value)
