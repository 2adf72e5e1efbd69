"""The formats that are written from the lines of cases, by name.

The download of an author's timeline, export jobs and `manage.py export_timelines` share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.utils import timezone

from timelines.formats.brat.writer import write_brat
from timelines.formats.columns import write_parquet
from timelines.formats.doccano.writer import write_doccano
from timelines.formats.event_table.writer import write_bsv
from timelines.formats.i2b2.writer import write_i2b2
from timelines.formats.label_studio.writer import write_label_studio
from timelines.formats.lines import CaseLines
from timelines.formats.meds.writer import write_meds
from timelines.formats.tables.writer import write_csv, write_jsonl


@dataclass(frozen=True, slots=True)
class Options:
    """What a writer may need to know besides the cases."""

    #: The name of the dataset, which MEDS stores.
    dataset: str = ""
    with_note_text: bool = False
    created: datetime = field(default_factory=timezone.now)


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its label, the ending of its file, and its writer.

    The ending is empty for a format that is a folder. `has_note`: its files contain the note.
    """

    label: str
    ending: str
    write: Callable[[Iterable[CaseLines], Path, Options], int]
    has_note: bool = False


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(
        "JSONL",
        "jsonl",
        lambda cases, out, o: write_jsonl(cases, out, with_note_text=o.with_note_text),
    ),
    "csv": Format(
        "CSV", "csv", lambda cases, out, o: write_csv(cases, out, with_note_text=o.with_note_text)
    ),
    "parquet": Format(
        "Parquet",
        "parquet",
        lambda cases, out, o: write_parquet(cases, out, with_note_text=o.with_note_text),
    ),
    "meds": Format(
        "MEDS",
        "",
        lambda cases, out, o: write_meds(cases, out, dataset=o.dataset, created=o.created),
    ),
    "bsv": Format("BSV", "", lambda cases, out, o: write_bsv(cases, out)),
    "brat": Format("brat", "", lambda cases, out, o: write_brat(cases, out), has_note=True),
    "doccano": Format(
        "doccano", "jsonl", lambda cases, out, o: write_doccano(cases, out), has_note=True
    ),
    "label_studio": Format(
        "Label Studio", "json", lambda cases, out, o: write_label_studio(cases, out), has_note=True
    ),
    "i2b2": Format("i2b2", "", lambda cases, out, o: write_i2b2(cases, out), has_note=True),
}
