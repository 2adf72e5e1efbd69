"""Recognise formats by names of files and their first bytes.

No Django here.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ehr.formats.base import WrongFile
from ehr.formats.cases import ENCOUNTER
from ehr.formats.csv.encounters import is_listing
from ehr.formats.delimited import header_names
from ehr.formats.expected import describe_entries
from ehr.formats.fhir.files import DOCUMENTS, LINES, PACKED
from ehr.formats.meds.reader import COLUMNS as MEDS_COLUMNS
from ehr.formats.mimic_iv.admissions import ADMISSIONS
from ehr.formats.note_files import SUFFIX, is_note, list_stay_folders
from ehr.formats.note_index import is_index
from ehr.formats.omop.files import find_files
from ehr.formats.omop.tables import VISITS
from ehr.formats.parquet import column_names
from ehr.formats.row_files import REQUIRED, SUFFIXES
from ehr.formats.text import PAPERS

#: How deep a folder may be inside folders that have nothing else.
DEEPEST = 5
FIRST_BYTES = 64 << 10
#: Files of one kind that are looked into.
LOOKED_AT = 20
NOT_RECOGNISED = "No format was recognised by the names of the files and their first bytes."
RESOURCE = b'"resourceType"'
#: What archivers and systems add.
CLUTTER = ("__MACOSX", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A format ("" if none was recognised), its folder, and the reason."""

    format: str
    root: Path
    reason: str


def recognise(folder: Path) -> Recognised:
    """Return the format of a folder or of the only folder inside it.

    It never raises for odd content: a damaged file is recognised by its name, or not at all.
    """
    root = folder
    for _ in range(DEEPEST):
        if found := _recognise_here(root):
            return found
        entries = list_entries(root)
        if len(entries) != 1 or not entries[0].is_dir():
            break
        root = entries[0]
    return Recognised("", root, f"{NOT_RECOGNISED} {describe_entries(list_entries(root))}")


def find_root(folder: Path, format: str) -> Path:
    """Return the folder to read in a format that a person chose.

    It is the recognised one if the format is, else the first folder with more than one entry.
    """
    found = recognise(folder)
    if found.format == format or format == "cases":
        return found.root
    root = folder
    while len(entries := list_entries(root)) == 1 and entries[0].is_dir():
        root = entries[0]
    return root


def list_entries(folder: Path) -> list[Path]:
    """Return the entries of a folder by name, without clutter."""
    if not folder.is_dir():
        return []
    entries = (p for p in folder.iterdir() if not p.name.startswith(".") and p.name not in CLUTTER)
    return sorted(entries)


def _recognise_here(root: Path) -> Recognised | None:
    for format, find in _SIGNS:
        if reason := find(root):
            return Recognised(format, root, reason)
    return None


def _find_cases(root: Path) -> str:
    folders = [root, *(p for p in list_entries(root) if p.is_dir())]
    count = sum((folder / ENCOUNTER).is_file() for folder in folders)
    return f"{count} of its folders have {ENCOUNTER}." if count else ""


def _find_mimic_iv(root: Path) -> str:
    there = any((root / f"{ADMISSIONS}{suffix}").exists() for suffix in (".csv", ".csv.gz"))
    return f"It has {ADMISSIONS}.csv, the admissions of MIMIC-IV." if there else ""


def _find_omop(root: Path) -> str:
    files = find_files(root, VISITS) if root.is_dir() else []
    return f"It has {files[0].name}, the visits of OMOP." if files else ""


def _is_wrapped(root: Path) -> bool:
    """Return True for a folder with nothing but the folder of an export.

    Names of files count from the inner one, however the export was packed. `data` is a part of
    MEDS.
    """
    entries = list_entries(root)
    return len(entries) == 1 and entries[0].is_dir() and entries[0].name != "data"


def _find_meds(root: Path) -> str:
    if _is_wrapped(root):
        return ""
    needed = [set(MEDS_COLUMNS[name]) for name in ("subject_id", "code")]
    for path in islice(_files(root, (".parquet",)), LOOKED_AT):
        try:
            names = set(column_names(path, path.name))
        except WrongFile:
            continue
        if all(names & known for known in needed):
            return f"{path.name} has the columns subject_id and code of MEDS."
    return ""


def _find_fhir(root: Path) -> str:
    if _is_wrapped(root):
        return ""
    suffixes = tuple(s + p for s in (*LINES, *DOCUMENTS) for p in ("", PACKED))
    for path in islice(_files(root, suffixes), LOOKED_AT):
        if RESOURCE in read_first_bytes(path):
            return f"{path.name} begins with a FHIR resource."
    return ""


def _find_csv(root: Path) -> str:
    files = [p for p in list_entries(root) if p.name.lower().endswith(SUFFIXES)]
    if any(map(is_listing, files)):
        return "It has encounters.csv, the times of admission of the csv format."
    for path in files[:LOOKED_AT]:
        if set(REQUIRED) <= _header(path):
            return f"{path.name} has the columns {', '.join(REQUIRED)}."
    return ""


def _find_text(root: Path) -> str:
    notes = [p for p in list_entries(root) if is_note(p)]
    notes = [p for p in notes if not p.name.startswith(PAPERS)]
    if not root.is_dir() or _list_tables(root):
        return ""
    if not notes:
        stays = list_stay_folders(root)
        return f"It has a folder of notes for each stay ({len(stays)})." if stays else ""
    return f"It has notes ({len(notes)} {SUFFIX}) and no tables."


def _find_tables(root: Path) -> str:
    """Tables with other names of columns: csv with a mapping."""
    known = [p.name for p in _list_tables(root) if _header(p)]
    if not known:
        return ""
    return f"{known[0]} is a table without the columns {', '.join(REQUIRED)}. Map its columns."


def _list_tables(root: Path) -> list[Path]:
    files = (p for p in list_entries(root) if p.name.lower().endswith(SUFFIXES))
    return list(islice((p for p in files if not is_index(p)), LOOKED_AT))


#: In this order: the first sign that is there decides.
_SIGNS: tuple[tuple[str, Callable[[Path], str]], ...] = (
    ("cases", _find_cases),
    ("mimic_iv", _find_mimic_iv),
    ("omop", _find_omop),
    ("meds", _find_meds),
    ("fhir", _find_fhir),
    ("csv", _find_csv),
    ("text", _find_text),
    ("csv", _find_tables),
)


def _header(path: Path) -> set[str]:
    """Return the names of a table's columns, none if it is unreadable."""
    if path.suffix.lower() == ".parquet":
        try:
            return set(column_names(path, path.name))
        except WrongFile:
            return set()
    return set(header_names(path))


def _files(root: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files below a folder with one of these ends of their names."""
    for path in sorted(root.rglob("*")):
        hidden = any(p.startswith(".") or p in CLUTTER for p in path.relative_to(root).parts)
        if not hidden and path.name.lower().endswith(suffixes) and path.is_file():
            yield path


def read_first_bytes(path: Path) -> bytes:
    """Return the first bytes, unpacked; none of an unreadable file."""
    try:
        with gzip.open(path) if path.name.lower().endswith(PACKED) else path.open("rb") as file:
            return file.read(FIRST_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""
