"""Import clinician-authored timelines that come with a case.

`encounter.json` may say by which protocol they were annotated.

`reference.jsonl` gives an inventory and a timeline of its own. It is read through the import's
hook, inside the transaction of the case. Each line is checked separately; a file with a faulty line
gives no timeline at all, because a reference that lacks occurrences would favour every method
compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic import Strict as Typed

from ehr.formats.base import is_storable
from ehr.formats.cases import ENCOUNTER
from ehr.formats.strict_json import BadJson, read_object
from ehr.models import Encounter, Note, SourceRow
from ehr.record.charts import find_note
from ehr.report import CaseReport
from llm_runtime.schema import FaultMessage, Strict, field_faults
from timelines import domain, models
from timelines.domain import Entry, InvariantError, Lane, Polarity, TaggedSpan, TimelineKind
from timelines.pipeline.uids import UidsUsedUp, assign_uids, find_identities, uid_rng
from timelines.runs import storage

FILE = "reference.jsonl"
SOURCE = "reference"
DECIDED_BY = "reference author"
LONGEST_FILE = 50_000_000
LARGEST_ROW = 2**31 - 1


@dataclass(frozen=True)
class Fault:
    """A fault of a line; it never quotes the line."""

    line: int
    field: str
    reason: str


def _text(text: str) -> str:
    if not is_storable(text):
        raise ValueError("not text that can be stored")
    return text


def _check_words(text: str) -> str:
    if not text.strip():
        raise ValueError("no text")
    return _text(text)


Index = Annotated[int, Field(ge=0), FaultMessage("start and end are whole numbers from 0")]
Hours = Annotated[float | None, FaultMessage("neither a number of hours nor null")]


class ReferenceLine(Strict):
    """One authored occurrence, a line of the file.

    Hours from the anchor, None if it cannot be placed; `rows` are evidence of exactly this
    occurrence.
    """

    start: Index
    end: Index
    mention: Annotated[str, AfterValidator(_check_words), FaultMessage("no text")]
    time: Hours
    lower: Hours
    upper: Hours
    known: Annotated[Literal[0, 1], FaultMessage("neither 0 nor 1")]
    #: The author's estimate from the note alone, which is not stored.
    text_time: Any = None
    polarity: Annotated[
        Polarity, Typed(False), FaultMessage(f"not one of {', '.join(Polarity)}")
    ] = Polarity.PRESENT
    lane: Annotated[Lane | None, Typed(False), FaultMessage(f"not one of {', '.join(Lane)}")] = None
    rows: Annotated[
        list[Annotated[int, Field(ge=0, le=LARGEST_ROW)]] | None,
        FaultMessage("not a list of row numbers"),
    ] = None
    why: Annotated[
        Annotated[str, AfterValidator(_text)] | None, FaultMessage("not text that can be stored")
    ] = None

    @property
    def span(self) -> TaggedSpan:
        """Return its place in the note. Raises InvariantError."""
        return TaggedSpan(
            self.start, self.end, self.mention, self.polarity, self.lane or Lane.FINDING
        )

    def entry(self, uid: str) -> Entry:
        """Return its time under the identifier.

        Raises InvariantError if the bounds exclude it.
        """
        return Entry(
            uid,
            self.time,
            self.lower,
            self.upper,
            bool(self.known),
            (),
            DECIDED_BY,
            self.why or "",
            tuple(dict.fromkeys(self.rows or ())),
        )


def import_reference(encounter: Encounter, folder: Path, report: CaseReport) -> None:
    """Import hook: store the case's reference timeline if there is one.

    Faults go to the report, with line and field.
    """
    path = folder / FILE
    if not path.is_file():
        return
    note = find_note(encounter)
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
            save_reference(note=note, lines=lines, protocol=_read_protocol(folder))
        except UidsUsedUp as error:
            report.reject(file=FILE, line=len(lines), field="", reason=str(error))


def _read_protocol(folder: Path) -> str:
    """Return the annotation protocol of the case.

    The file was checked when the case was read.
    """
    text = (folder / ENCOUNTER).read_text(encoding="utf-8-sig")
    return str(read_object(text).get("reference_protocol") or "").strip()


def save_reference(
    *, note: Note, lines: list[ReferenceLine], protocol: str = ""
) -> models.Timeline:
    """Store the sealed inventory of a note and the timeline over it.

    Both are in the order of the lines.
    """
    spans = _add_kinds(note.text, lines)
    rng = uid_rng(0, f"{note.sha256}:{SOURCE}", find_identities(spans))
    inventory = assign_uids(spans, rng=rng, in_use=storage.uids_in_use(note.pk))
    entries = [line.entry(o.uid) for line, o in zip(lines, inventory, strict=True)]
    timeline = domain.Timeline.complete(inventory, entries, TimelineKind.REFERENCE)
    stored = storage.save_inventory(
        note=note, inventory=inventory, origin=models.Inventory.Origin.REFERENCE
    )
    return storage.save_timeline(
        timeline=timeline, inventory=stored, source=SOURCE, protocol=protocol
    )


def _add_kinds(note: str, lines: list[ReferenceLine]) -> list[TaggedSpan]:
    """Return the spans; the vocabulary infers what the file does not say.

    Without it every occurrence would be a finding, and lanes would mean nothing.
    """
    # The parser is loaded only if a case brings a reference.
    from timelines.backbones.rules.tagging.kinds import Marked, infer_kinds

    inferred = infer_kinds(note, [Marked(line.mention, line.start, line.end) for line in lines])
    return [
        replace(
            line.span,
            lane=line.lane or lane,
            polarity=line.polarity if "polarity" in line.model_fields_set else polarity,
        )
        for line, (lane, polarity) in zip(lines, inferred, strict=True)
    ]


def read_reference(
    text: str, note: str, known_rows: set[int]
) -> tuple[list[ReferenceLine], list[Fault]]:
    """Return the valid lines of a file, and the faults of the others."""
    lines: list[ReferenceLine] = []
    faults: list[Fault] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            line = ReferenceLine.model_validate(read_object(raw))
        except BadJson as error:
            faults.append(Fault(number, "", str(error)))
            continue
        except ValidationError as error:
            faults += [Fault(number, f.path, f.reason) for f in field_faults(error)]
            continue
        found = [Fault(number, field, reason) for field, reason in _faults(line, note, known_rows)]
        faults += found
        if not found:
            lines.append(line)
    return lines, faults


def _faults(line: ReferenceLine, note: str, known_rows: set[int]) -> Iterator[tuple[str, str]]:
    """(field, reason) of what contradicts the case, or itself."""
    if not line.start < line.end <= len(note):
        place = f"[{line.start}, {line.end})"
        yield "end", f"the span {place} is outside the note of {len(note)} characters"
    try:
        line.entry("0000")
    except InvariantError:
        yield "lower", "the time is outside the bounds"
    unknown = [row for row in line.rows or () if row not in known_rows]
    if unknown:
        yield "rows", f"the record has no row {', '.join(str(row) for row in unknown[:5])}"
