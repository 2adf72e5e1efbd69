"""Show how names of files and columns are read, which a mapping changes."""

from __future__ import annotations

from pathlib import Path

from ehr.formats.base import WrongFile
from ehr.formats.csv.reader import parse_case_id
from ehr.formats.delimited import header_names
from ehr.formats.mapping import COLUMNS, ImportMapping
from ehr.formats.note_files import is_note, make_case_patterns
from ehr.formats.note_index import is_index
from ehr.formats.parquet import column_names
from ehr.formats.recognition import list_entries

MOST = 10
NOT_READ = "not read"


def describe_names(path: Path, format: str, mapping: ImportMapping) -> list[dict[str, str]]:
    """Return pairs of a name and what it is read as; empty if none is."""
    if format == "text" and not any(map(is_index, list_entries(path))):
        return _describe_files(path, mapping)
    return _describe_columns(path, mapping) if format == "csv" else []


def list_columns(path: Path) -> list[str]:
    """Return the columns of the first table of a folder."""
    tables = [path] if path.is_file() else [p for p in list_entries(path) if parse_case_id(p)]
    tables = [p for p in tables if p.name.lower() not in ("encounters.csv", "encounters.csv.gz")]
    if not tables:
        return []
    try:
        if tables[0].suffix == ".parquet":
            return sorted(column_names(tables[0], ""))
        return sorted(header_names(tables[0]))
    except (WrongFile, OSError):
        return []


def _describe_columns(path: Path, mapping: ImportMapping) -> list[dict[str, str]]:
    named = dict(mapping.columns)
    ours = {named.get(column, column): column for column in COLUMNS}
    return [{"name": c, "meaning": ours.get(c, NOT_READ)} for c in list_columns(path)]


def _describe_files(path: Path, mapping: ImportMapping) -> list[dict[str, str]]:
    patterns = make_case_patterns(mapping.pattern)
    found = []
    for note in [p for p in list_entries(path) if is_note(p)][:MOST]:
        said = patterns.read(note)
        meaning = "does not fit the pattern"
        if said is not None:
            written = said.written_at.isoformat(" ", "minutes") if said.written_at else "no time"
            meaning = said.fault or f"stay {said.case}, {said.kind}, {written}"
        found.append({"name": note.name, "meaning": meaning})
    return found
