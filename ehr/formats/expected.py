"""The files that each format expects, for a person who brings others.

No Django here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ehr.formats.base import safe_name

#: Entries that are named, and the most characters of one name.
NAMED, LONGEST_NAME = 4, 40
EXPECTED: Mapping[str, str] = {
    "fhir": ".json or .ndjson files of FHIR R4 resources, plain or .gz",
    "omop": "visit_occurrence, person, note and other tables as .csv or .parquet",
    "meds": "data/ with .parquet shards that have the columns subject_id, time and code",
    "mimic_iv": "hosp/admissions.csv, and other files in hosp/, icu/ and note/, plain or .gz",
    "cases": "a folder for each stay with encounter.json and note.txt",
    "csv": "a table for each stay with the columns t, event and value; encounters.csv",
    "text": ".txt files of notes without tables; optionally index.csv",
}


def describe_entries(entries: list[Path]) -> str:
    """Return a sentence about what a folder has instead."""
    if not entries:
        return "There is no file."
    names = [_name(path) for path in entries[:NAMED]]
    more = len(entries) - len(names)
    others = f" and {more} other{'s' if more > 1 else ''}" if more else ""
    return f"Found: {', '.join(names)}{others}."


def _name(path: Path) -> str:
    name = safe_name(path)
    short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return f"{short}/" if path.is_dir() else short
