"""The `cases` folder format: one folder a case with `encounter.json`, `note.txt` and
`rows.csv[.gz]` or `rows.parquet`.

A case that cannot be taken says why, file by file; the others of the folder are not affected. No
Django here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ehr.formats.base import (
    LONGEST_CASE_ID,
    LONGEST_TITLE,
    CaseRecord,
    EncounterRecord,
    FormatError,
    NoteRecord,
    Rejection,
    WrongFile,
    shown_name,
    storable,
)
from ehr.formats.limits import DEFAULT_LIMITS, Limits
from ehr.formats.row_files import Block, read_rows
from ehr.formats.strict_json import BadJson, read_object

ENCOUNTER, NOTE, REFERENCE = "encounter.json", "note.txt", "reference.jsonl"
ROW_FILES = ("rows.csv", "rows.csv.gz", "rows.parquet")
ANCHORS = ("admission", "presentation")
TEXTS = {"case_id": LONGEST_CASE_ID, "title": LONGEST_TITLE, "subject_key": LONGEST_CASE_ID}
TIMES = ("admitted_at", "discharged_at")
LONGEST_ENCOUNTER = 1 << 20


def case_folders(root: Path) -> list[Path]:
    """The case folders below `root` in order of name; `root` itself where it is one case. Raises
    FormatError.
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
    for name in (ENCOUNTER, NOTE, *ROW_FILES, REFERENCE):
        if (folder / name).is_file():
            with (folder / name).open("rb") as file:
                total.update(
                    f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode()
                )
    return total.hexdigest()


def licence_of(root: Path) -> str:
    """The text of the folder's licence file, "" without one that can be read."""
    for name in ("LICENSE", "LICENSE.txt", "LICENSE.md"):
        with suppress(OSError):
            return (root / name).read_text(encoding="utf-8", errors="replace").replace("\x00", "")
    return ""


def read_case(folder: Path, sha256: str = "", limits: Limits = DEFAULT_LIMITS) -> CaseRecord:
    """One case with its notes and rows, or with the reasons why it cannot be taken. Never raises
    for bad content.
    """
    rejections: list[Rejection] = []
    try:
        sha256 = sha256 or digest(folder)
        encounter = _encounter(folder, rejections)
        note = _note(folder, rejections, limits)
        blocks = _rows(folder, rejections, limits)
    except OSError as error:
        rejections.append(
            Rejection(f"{shown_name(folder)}/", f"a file cannot be read: {error.strerror}")
        )
        return CaseRecord(folder, sha256, None, rejections=tuple(rejections))
    offered = sum(block.offered for block in blocks)
    if encounter is None or note is None or not blocks:
        return CaseRecord(folder, sha256, None, rejections=tuple(rejections), offered=offered)
    rows = pa.concat_tables([block.rows for block in blocks]).combine_chunks()
    invalid_times = sum(block.invalid_times for block in blocks)
    return CaseRecord(
        folder, sha256, encounter, (note,), rows, invalid_times, tuple(rejections), offered
    )


def _encounter(folder: Path, rejections: list[Rejection]) -> EncounterRecord | None:
    name = f"{shown_name(folder)}/{ENCOUNTER}"
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
    faults = list(_faults(data))
    rejections += [Rejection(name, reason, field=key) for key, reason in faults]
    unknown = len(data.keys() - {*TEXTS, *TIMES, "anchor"})
    if unknown:
        rejections.append(Rejection(name, f"fields with unknown names, not read: {unknown}"))
    if faults:
        return None
    return EncounterRecord(
        case_id=str(data["case_id"]),
        admitted_at=datetime.fromisoformat(data["admitted_at"]),
        discharged_at=datetime.fromisoformat(data["discharged_at"])
        if data.get("discharged_at")
        else None,
        title=str(data.get("title") or ""),
        anchor=data.get("anchor") or ANCHORS[0],
        subject_key=str(_value(data, "subject_key")),
    )


def _value(data: dict[str, Any], key: str) -> Any:
    """The value, "" where there is none; 0 and false are values."""
    return "" if data.get(key) is None else data[key]


def _faults(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, reason) of everything that is wrong with an encounter."""
    for key, longest in TEXTS.items():
        value = _value(data, key)
        if not isinstance(value, str) and (key == "title" or type(value) is not int):
            yield key, "not text"
        elif key == "case_id" and not str(value).strip():
            yield key, "the case_id is missing or empty"
        elif len(str(value)) > longest:
            yield key, f"longer than {longest} characters"
        elif not str(value).isprintable():
            yield key, "has characters that cannot be shown"
    times = {key: _naive(data.get(key)) for key in TIMES}
    for key, time in times.items():
        if time is None and (key == "admitted_at" or _value(data, key) != ""):
            yield key, "not a local date and time like 2150-01-31T08:30:00"
    if (
        times["admitted_at"]
        and times["discharged_at"]
        and times["discharged_at"] < times["admitted_at"]
    ):
        yield "discharged_at", "before the admission"
    if data.get("anchor") not in (None, "", *ANCHORS):
        yield "anchor", f"not one of {', '.join(ANCHORS)}"


def _naive(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo is None else None


def _note(folder: Path, rejections: list[Rejection], limits: Limits) -> NoteRecord | None:
    name = f"{shown_name(folder)}/{NOTE}"
    reason = f"the note has more than {limits.note_bytes:,} bytes (IMPORT_NOTE_BYTES)"
    text = _text(folder / NOTE, name, limits.note_bytes, reason, rejections)
    if text is None:
        return None
    if not text.strip() or not storable(text):
        line = None if "\x00" not in text else text[: text.index("\x00")].count("\n") + 1
        rejections.append(
            Rejection(name, "the note has a NUL character" if line else "the note is empty", line)
        )
        return None
    return NoteRecord(text)


def _text(
    path: Path, name: str, longest: int, too_long: str, rejections: list[Rejection]
) -> str | None:
    """The file's text; None, with a rejection, where it is missing, too long or no UTF-8."""
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


def _rows(folder: Path, rejections: list[Rejection], limits: Limits) -> list[Block]:
    """The blocks of the case's file, none where it is unusable."""
    found = [name for name in ROW_FILES if (folder / name).is_file()]
    name = f"{shown_name(folder)}/{found[0] if found else ROW_FILES[0]}"
    if len(found) != 1:
        rejections.append(
            Rejection(
                name,
                f"several files of rows: {', '.join(found)}"
                if found
                else f"no {', '.join(ROW_FILES)}",
            )
        )
        return []
    try:
        blocks = list(read_rows(folder / found[0], name, limits))
    except WrongFile as error:
        rejections.append(error.rejection)
        return []
    rejections += [rejection for block in blocks for rejection in block.rejections]
    return blocks
