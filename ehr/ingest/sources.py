"""Open files in a format, with its mapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from django.conf import settings

from ehr.formats.base import FormatError
from ehr.formats.csv.reader import PlainRows
from ehr.formats.expected import EXPECTED
from ehr.formats.fhir.reader import Fhir
from ehr.formats.limits import Limits
from ehr.formats.mapping import ImportMapping
from ehr.formats.meds.reader import Meds
from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.omop.reader import Omop
from ehr.formats.stream import StreamSource
from ehr.formats.text import TextNotes

#: Opens a source over a path: chosen cases or None for all.
Opener = Callable[[Path, Collection[str] | None, Limits, ImportMapping], StreamSource]
STREAMED: Mapping[str, Opener] = {
    "csv": lambda path, cases, limits, m: PlainRows(path, cases, limits, dict(m.columns)),
    "mimic_iv": lambda path, cases, limits, m: MimicIV(path, cases, limits),
    "meds": lambda path, cases, limits, m: Meds(path, cases, limits, m.codes),
    "omop": lambda path, cases, limits, m: Omop(path, cases, limits),
    "text": lambda path, cases, limits, m: TextNotes(path, cases, limits, m.pattern),
    "fhir": lambda path, cases, limits, m: Fhir(path, cases, limits),
}
FORMATS = ("cases", *STREAMED)
FORMAT_WORDS: Mapping[str, str] = {
    "cases": "Cases: one folder for each stay",
    "csv": "CSV: one table for each stay",
    "mimic_iv": "MIMIC-IV",
    "meds": "MEDS",
    "omop": "OMOP",
    "text": "Notes only: a folder of text files",
    "fhir": "FHIR R4",
}


def list_expected() -> list[dict[str, str]]:
    """Return each format with the files that it expects, for a page."""
    return [{"name": FORMAT_WORDS[name], "files": files} for name, files in EXPECTED.items()]


def check_format(format: str) -> None:
    """Raise FormatError for an unknown format."""
    if format not in FORMATS:
        raise FormatError(f"The format {format} is unknown. Known: {', '.join(FORMATS)}.")


def configured_limits() -> Limits:
    """Return the limits of the settings IMPORT_…."""
    return Limits(
        note_bytes=settings.IMPORT_NOTE_BYTES,
        case_rows=settings.IMPORT_CASE_ROWS,
        case_bytes=settings.IMPORT_CASE_BYTES,
        expansion=settings.IMPORT_EXPANSION,
    )
