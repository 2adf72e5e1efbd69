"""The `cases` folder format: one folder a case with `encounter.json`, `note.txt` and `rows.csv[.gz]` or `rows.parquet`.

A case that cannot be taken says why, file by file; the others of the folder are not affected. No Django here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ehr.formats.base import CaseRecord, EncounterRecord, FormatError, NoteRecord, Rejection
from ehr.formats.csv_blocks import WrongFile
from ehr.formats.row_files import read_rows
from ehr.schema import ROWS

ENCOUNTER, NOTE, REFERENCE = "encounter.json", "note.txt", "reference.jsonl"
ROW_FILES = ("rows.csv", "rows.csv.gz", "rows.parquet")
ANCHORS = ("admission", "presentation")
LONGEST_CASE_ID, LONGEST_TITLE = 100, 500


def case_folders(root: Path) -> list[Path]:
    """The case folders below `root` in order of name; `root` itself where it is one case. Raises FormatError."""
    if not root.is_dir():
        raise FormatError(f"{root} is no folder. The cases format is a folder with one folder a case.")
    if (root / ENCOUNTER).exists():
        return [root]
    folders = sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))
    if not folders:
        raise FormatError(f"{root} holds no case. A case is a folder with {ENCOUNTER}, {NOTE} and rows.csv.")
    return folders


def digest(folder: Path) -> str:
    """SHA-256 of everything the case consists of, names included."""
    total = hashlib.sha256()
    for name in (ENCOUNTER, NOTE, *ROW_FILES, REFERENCE):
        if (folder / name).is_file():
            with (folder / name).open("rb") as file:
                total.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode())
    return total.hexdigest()


def licence_of(root: Path) -> str:
    """The text of the folder's licence file, "" without one."""
    for name in ("LICENSE", "LICENSE.txt", "LICENSE.md"):
        if (root / name).is_file():
            return (root / name).read_text(encoding="utf-8", errors="replace").replace("\x00", "")
    return ""


def read_case(folder: Path, sha256: str = "") -> CaseRecord:
    """One case with its notes and rows, or with the reasons why it cannot be taken. Never raises for bad content."""
    sha256 = sha256 or digest(folder)
    rejections: list[Rejection] = []
    encounter = _encounter(folder, rejections)
    note = _note(folder, rejections)
    rows, invalid_times = _rows(folder, rejections)
    if encounter is None or note is None or rows is None:
        return CaseRecord(folder, sha256, None, rejections=tuple(rejections))
    return CaseRecord(folder, sha256, encounter, (note,), rows, invalid_times, tuple(rejections))


def _encounter(folder: Path, rejections: list[Rejection]) -> EncounterRecord | None:
    name = f"{folder.name}/{ENCOUNTER}"
    try:
        data = json.loads((folder / ENCOUNTER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        rejections.append(Rejection(name, "the file is missing"))
        return None
    except json.JSONDecodeError as error:
        rejections.append(Rejection(name, f"not JSON: {error.msg}", error.lineno))
        return None
    except (UnicodeDecodeError, OSError, RecursionError):
        rejections.append(Rejection(name, "the file is not UTF-8 text"))
        return None
    if not isinstance(data, dict):
        rejections.append(Rejection(name, "not a JSON object"))
        return None
    faults = list(_faults(data))
    rejections += [Rejection(name, reason, field=key) for key, reason in faults]
    if faults:
        return None
    return EncounterRecord(
        case_id=str(data["case_id"]),
        admitted_at=datetime.fromisoformat(data["admitted_at"]),
        discharged_at=datetime.fromisoformat(data["discharged_at"]) if data.get("discharged_at") else None,
        title=str(data.get("title") or ""),
        anchor=data.get("anchor") or ANCHORS[0],
        subject_key=str(data.get("subject_key") or ""),
    )


def _faults(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, reason) of everything that is wrong with an encounter."""
    case_id = data.get("case_id")
    if not isinstance(case_id, str | int) or isinstance(case_id, bool) or not str(case_id).strip():
        yield "case_id", "the case_id is missing or no text"
    for key, longest in (("case_id", LONGEST_CASE_ID), ("title", LONGEST_TITLE), ("subject_key", LONGEST_CASE_ID)):
        if len(str(data.get(key) or "")) > longest:
            yield key, f"longer than {longest} characters"
        elif not str(data.get(key) or "").isprintable():
            yield key, "holds characters that cannot be shown"
    times = {key: _naive(data.get(key)) for key in ("admitted_at", "discharged_at")}
    if times["admitted_at"] is None:
        yield "admitted_at", "not a local date and time like 2150-01-31T08:30:00"
    if times["discharged_at"] is None and data.get("discharged_at"):
        yield "discharged_at", "not a local date and time like 2150-01-31T08:30:00"
    if times["admitted_at"] and times["discharged_at"] and times["discharged_at"] < times["admitted_at"]:
        yield "discharged_at", "before the admission"
    if data.get("anchor") not in (None, "", *ANCHORS):
        yield "anchor", f"not one of {', '.join(ANCHORS)}"


def _naive(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo is None else None


def _note(folder: Path, rejections: list[Rejection]) -> NoteRecord | None:
    name = f"{folder.name}/{NOTE}"
    try:
        text = (folder / NOTE).read_bytes().decode("utf-8")
    except FileNotFoundError:
        rejections.append(Rejection(name, "the file is missing"))
        return None
    except (UnicodeDecodeError, OSError):
        rejections.append(Rejection(name, "the file is not UTF-8 text"))
        return None
    if not text.strip() or "\x00" in text:
        line = None if "\x00" not in text else text[: text.index("\x00")].count("\n") + 1
        rejections.append(Rejection(name, "the note holds a NUL character" if line else "the note is empty", line))
        return None
    return NoteRecord(text)


def _rows(folder: Path, rejections: list[Rejection]) -> tuple[pa.Table | None, int]:
    """(rows, how many were left out for their time); None where the file is unusable."""
    found = [name for name in ROW_FILES if (folder / name).is_file()]
    if len(found) != 1:
        reason = f"two files of rows: {', '.join(found)}" if found else f"no {', '.join(ROW_FILES)}"
        rejections.append(Rejection(f"{folder.name}/{found[0] if found else ROW_FILES[0]}", reason))
        return None, 0
    name = f"{folder.name}/{found[0]}"
    try:
        blocks = list(read_rows(folder / found[0], name))
    except WrongFile as error:
        rejections.append(error.rejection)
        return None, 0
    rejections += [rejection for block in blocks for rejection in block.rejections]
    rows = pa.concat_tables([block.rows for block in blocks]) if blocks else ROWS.empty_table()
    return rows.combine_chunks(), sum(block.invalid_times for block in blocks)
