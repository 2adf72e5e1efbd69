"""The `cases` folder format: one folder for each case.

A folder has `encounter.json`, `note.txt`, and `rows.csv[.gz]` or `rows.parquet` if there are rows.
`notes/` may have more notes, `TIME__KIND.txt` each. A rejected case has a reason for each faulty
file; the other cases of the folder are not affected. No Django here.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import (
    AfterValidator,
    BeforeValidator,
    InstanceOf,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from ehr.formats.base import (
    LONGEST_CASE_ID,
    LONGEST_TITLE,
    CaseRecord,
    EncounterRecord,
    FormatError,
    NoteRecord,
    Rejection,
    WrongFile,
    describe_fault,
    safe_name,
)
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.note_files import (
    NoteName,
    is_note,
    make_note,
    make_patterns,
    order_key,
    read_note,
)
from ehr.formats.row_files import Block, read_rows
from ehr.formats.strict_json import BadJson, read_object
from ehr.schema import ROWS
from llm_runtime.schema import FaultMessage, Strict, field_faults

ENCOUNTER, NOTE, REFERENCE = "encounter.json", "note.txt", "reference.jsonl"
MORE_NOTES = "notes"
ROW_FILES = ("rows.csv", "rows.csv.gz", "rows.parquet")
LONGEST_ENCOUNTER = 1 << 20
LONGEST_PROTOCOL = 60
NAMES = make_patterns("{time}__{kind}", "{time}")


def _printable(longest: int) -> AfterValidator:
    """A check of texts that pages show."""

    def check(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"longer than {longest} characters")
        if not text.isprintable():
            raise ValueError("has characters that cannot be shown")
        return text

    return AfterValidator(check)


def _check_case_id(case_id: str) -> str:
    if not case_id.strip():
        raise ValueError("the case_id is empty")
    return case_id


def _parse_local(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError("no time")
    # The offset of a time gives the clock on the wall of its place (`ehr.formats.columns`).
    return datetime.fromisoformat(value).replace(tzinfo=None)


Text = Annotated[InstanceOf[str], FaultMessage("not text")]
#: Identifiers may be numbers in the file; 0 is one.
Key = Annotated[
    Text,
    BeforeValidator(lambda key: "" if key is None else str(key) if type(key) is int else key),
]
Moment = Annotated[
    datetime,
    PlainValidator(_parse_local),
    FaultMessage("not a date and time like 2150-01-31T08:30:00"),
]
_EMPTY = BeforeValidator(lambda value: None if value == "" else value)


class EncounterFile(Strict, extra="ignore"):
    """`encounter.json`; null and "" are as good as leaving a field out."""

    case_id: Annotated[Key, AfterValidator(_check_case_id), _printable(LONGEST_CASE_ID)]
    admitted_at: Moment
    discharged_at: Annotated[Moment | None, _EMPTY] = None
    title: Annotated[
        Text,
        BeforeValidator(lambda title: "" if title is None else title),
        _printable(LONGEST_TITLE),
    ] = ""
    anchor: Annotated[
        Literal["admission", "presentation"],
        BeforeValidator(lambda anchor: "admission" if anchor in (None, "") else anchor),
        FaultMessage("not one of admission, presentation"),
    ] = "admission"
    subject_key: Annotated[Key, _printable(LONGEST_CASE_ID)] = ""
    #: The annotation protocol of reference.jsonl, read with that file.
    reference_protocol: Annotated[
        Text,
        BeforeValidator(lambda protocol: "" if protocol is None else protocol),
        _printable(LONGEST_PROTOCOL),
    ] = ""

    @field_validator("discharged_at")
    @classmethod
    def _check_order(cls, discharged: datetime | None, info: ValidationInfo) -> datetime | None:
        admitted = info.data.get("admitted_at")
        if discharged and admitted and discharged < admitted:
            raise ValueError("before the admission")
        return discharged


def case_folders(root: Path) -> list[Path]:
    """Return the case folders below `root` in order of name.

    If `root` is itself a case, it is the only one. Raises FormatError.
    """
    if not root.is_dir():
        raise FormatError(
            f"{root} is not a folder. The cases format is a folder with one folder a case."
        )
    if (root / ENCOUNTER).exists():
        return [root]
    folders = sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))
    if not folders:
        raise FormatError(
            f"{root} has no case folder. A case is a folder with {ENCOUNTER}, {NOTE} and rows.csv."
        )
    return folders


def digest(folder: Path) -> str:
    """SHA-256 of everything the case consists of, names included."""
    total = hashlib.sha256()
    files = [folder / name for name in (ENCOUNTER, NOTE, *ROW_FILES, REFERENCE)]
    for path in [*files, *_more_notes(folder)]:
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                total.update(f"{name}\0{sha256}\0".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def read_licence(root: Path) -> str:
    """The text of the folder's licence file, "" without one that can be read."""
    for name in ("LICENSE", "LICENSE.txt", "LICENSE.md"):
        with suppress(OSError):
            return (root / name).read_text(encoding="utf-8", errors="replace").replace("\x00", "")
    return ""


def read_case(folder: Path, sha256: str = "", limits: Limits = DEFAULT_LIMITS) -> CaseRecord:
    """Return one case with its notes and rows, or with its rejections.

    Never raises for bad content.
    """
    rejections: list[Rejection] = []
    try:
        sha256 = sha256 or digest(folder)
        encounter = _encounter(folder, rejections)
        notes = _notes(folder, rejections, limits)
        blocks = _rows(folder, rejections, limits)
    except OSError as error:
        rejections.append(
            Rejection(f"{safe_name(folder)}/", f"a file cannot be read: {error.strerror}")
        )
        return CaseRecord(folder, sha256, None, rejections=tuple(rejections))
    offered = sum(block.offered for block in blocks or ())
    if encounter is None or not notes or blocks is None:
        return CaseRecord(folder, sha256, None, rejections=tuple(rejections), offered=offered)
    rows = pa.concat_tables([ROWS.empty_table(), *(b.rows for b in blocks)]).combine_chunks()
    invalid_times = sum(block.invalid_times for block in blocks)
    return CaseRecord(
        folder, sha256, encounter, notes, rows, invalid_times, tuple(rejections), offered
    )


def _encounter(folder: Path, rejections: list[Rejection]) -> EncounterRecord | None:
    name = f"{safe_name(folder)}/{ENCOUNTER}"
    text = _text(
        folder / ENCOUNTER,
        name,
        LONGEST_ENCOUNTER,
        f"longer than {LONGEST_ENCOUNTER:,} bytes",
        rejections,
    )
    if text is None:
        return None
    try:
        data = read_object(text.removeprefix("\ufeff"))
    except BadJson as error:
        rejections.append(Rejection(name, str(error), error.line))
        return None
    unknown = len(data.keys() - EncounterFile.model_fields.keys())
    if unknown:
        rejections.append(Rejection(name, f"fields with unknown names, not read: {unknown}"))
    try:
        fields = dict(EncounterFile.model_validate(data))
        del fields["reference_protocol"]
        return EncounterRecord(**fields)
    except ValidationError as error:
        rejections += [Rejection(name, f.reason, field=f.path) for f in field_faults(error)]
        return None


def _notes(folder: Path, rejections: list[Rejection], limits: Limits) -> tuple[NoteRecord, ...]:
    """Return the notes, discharge summaries first; none if one is faulty."""
    more, fault = _more_notes(folder), describe_fault(folder / NOTE)
    if not more and not fault and not (folder / NOTE).is_file():
        fault = "the file is missing"
    faults = [Rejection(f"{safe_name(folder)}/{NOTE}", fault)] if fault else []
    found: list[tuple[NoteName, str, NoteRecord]] = []
    for path in [folder / NOTE, *more] if (folder / NOTE).is_file() else more:
        name = (
            safe_name(folder) + f"/{MORE_NOTES}" * (path.parent != folder) + f"/{safe_name(path)}"
        )
        said = NoteName("") if path.parent == folder else NAMES.read(path)
        try:
            if reason := _note_fault(path, said):
                raise WrongFile(Rejection(name, reason))
            assert said is not None
            found.append((said, name, make_note(read_note(path, name, limits), said)))
        except WrongFile as error:
            faults.append(error.rejection)
    for i, (_, name, note) in enumerate(found):
        if any(note.text == other.text for *_, other in found[:i]):
            faults.append(Rejection(name, "the case has this note already"))
    rejections += faults
    ordered = sorted(found, key=lambda note: (order_key(note[0]), note[1]))
    return () if faults else tuple(note for *_, note in ordered)


def _more_notes(folder: Path) -> list[Path]:
    """Return what is in the folder of notes."""
    more = folder / MORE_NOTES
    if not more.is_dir():
        return []
    return sorted(path for path in more.iterdir() if not path.name.startswith("."))


def _note_fault(path: Path, said: NoteName | None) -> str:
    """Return why a file of notes cannot be read; "" if it can."""
    if reason := describe_fault(path):
        return reason
    if said is None or not is_note(path):
        return (
            "the file's name is not TIME.txt or TIME__KIND.txt, like 2150-01-31T08-30__ed note.txt"
        )
    return said.fault


def _text(
    path: Path, name: str, longest: int, too_long: str, rejections: list[Rejection]
) -> str | None:
    """Return the file's text.

    If the file is missing, too long or not UTF-8, it is rejected, and None is returned.
    """
    if not path.is_file():
        rejections.append(Rejection(name, "the file is missing"))
    elif path.stat().st_size > longest:
        rejections.append(Rejection(name, too_long))
    else:
        content = path.read_bytes()
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            rejections.append(Rejection(name, "the file is not UTF-8 text", line))
    return None


def _rows(folder: Path, rejections: list[Rejection], limits: Limits) -> list[Block] | None:
    """Return the blocks of the case's file, None if it is unusable.

    A case without a file has no rows. Rows in a file of another name are not overlooked.
    """
    names = sorted(p.name for p in folder.iterdir() if p.name.lower().startswith("rows."))
    found = [name for name in ROW_FILES if name in names]
    if not names:
        return []
    if not found:
        name = f"{safe_name(folder)}/{safe_name(folder / names[0])}"
        reason = f"rows are not read from this file; expected: {', '.join(ROW_FILES)}"
        rejections.append(Rejection(name, reason))
        return None
    name = f"{safe_name(folder)}/{found[0]}"
    try:
        if len(found) > 1:
            raise WrongFile(Rejection(name, f"several files of rows: {', '.join(found)}"))
        if reason := describe_fault(folder / found[0]):
            raise WrongFile(Rejection(name, reason))
        blocks = list(read_rows(folder / found[0], name, limits))
    except WrongFile as error:
        rejections.append(error.rejection)
        return None
    rejections += [rejection for block in blocks for rejection in block.rejections]
    return blocks
