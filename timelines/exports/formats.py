"""The formats of an export, by name.

Pages and `manage.py export_timelines` offer the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ehr.models import Encounter
from timelines.exports.by_timeline import write_bundles, write_chains, write_references
from timelines.transfer.lines import Selection, export_cases
from timelines.transfer.prov import write_prov
from timelines.transfer.writers import FORMATS, Options

#: Writes the chosen timelines of cases to a path; returns how many occurrences.
Write = Callable[[Iterable[Encounter], Selection, Path, Options], int]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format with its writer.

    The ending is empty for a format that is a folder. `has_note`: its files contain the note.
    """

    label: str
    about: str
    ending: str
    write: Write
    has_note: bool = False


def _of_lines(name: str, about: str) -> ExportFormat:
    """Return a format that is written from the lines of cases."""
    plain = FORMATS[name]

    def write(cases: Iterable[Encounter], wanted: Selection, out: Path, options: Options) -> int:
        return plain.write(export_cases(cases, wanted), out, options)

    return ExportFormat(plain.label, about, plain.ending, write, plain.has_note)


def _to_prov(cases: Iterable[Encounter], wanted: Selection, out: Path, options: Options) -> int:
    return write_prov(cases, wanted, out, with_note_text=options.with_note_text)


EXPORT_FORMATS: Mapping[str, ExportFormat] = {
    "jsonl": _of_lines("jsonl", "one line for each event"),
    "chains": ExportFormat(
        "JSONL with chains", "one line for each event, with the chain of its time", "jsonl",
        write_chains,
    ),
    "csv": _of_lines("csv", "a table with its schema"),
    "parquet": _of_lines("parquet", "tables with their schema"),
    "fhir": ExportFormat("FHIR R4", "a Bundle for each timeline", "", write_bundles),
    "meds": _of_lines("meds", "a MEDS dataset"),
    "brat": _of_lines("brat", "notes with annotations"),
    "i2b2": _of_lines("i2b2", "notes with annotations"),
    "label_studio": _of_lines("label_studio", "notes with annotations"),
    "doccano": _of_lines("doccano", "notes with annotations"),
    "bsv": _of_lines("bsv", "event, time and confidence, a file for each case"),
    "prov": ExportFormat("PROV", "an audit trail for each event", "jsonl", _to_prov),
    "references": ExportFormat(
        "References", "reference.jsonl for each case, as an import reads it", "", write_references
    ),
}  # fmt: skip
