"""An author's own submitted timeline as a file.

It is available in every export format (`timelines.exports`).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.utils import timezone

from ehr.models import Encounter
from timelines.formats.brat.writer import write_brat
from timelines.formats.columns import write_parquet
from timelines.formats.doccano.writer import write_doccano
from timelines.formats.event_table.writer import write_bsv
from timelines.formats.i2b2.writer import write_i2b2
from timelines.formats.label_studio.writer import write_label_studio
from timelines.formats.lines import CaseLines
from timelines.formats.meds.writer import write_meds
from timelines.formats.tables.writer import write_csv, write_jsonl
from timelines.models import Authoring
from timelines.transfer.lines import Selection, export_cases


@dataclass(frozen=True)
class Format:
    """A format: its label, file ending and writer.

    The writer takes (lines, path, dataset name).
    """

    label: str
    ending: str
    write: Callable[[list[CaseLines], Path, str], int]


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(
        "JSONL", "jsonl", lambda lines, out, _: write_jsonl(lines, out, with_note_text=False)
    ),
    "csv": Format("CSV", "csv", lambda lines, out, _: write_csv(lines, out, with_note_text=False)),
    "parquet": Format(
        "Parquet", "parquet", lambda lines, out, _: write_parquet(lines, out, with_note_text=False)
    ),
    "meds": Format(
        "MEDS",
        "zip",
        lambda lines, out, name: write_meds(lines, out, dataset=name, created=timezone.now()),
    ),
    "bsv": Format("BSV", "zip", lambda lines, out, _: write_bsv(lines, out)),
    "brat": Format("brat", "zip", lambda lines, out, _: write_brat(lines, out)),
    "doccano": Format("doccano", "jsonl", lambda lines, out, _: write_doccano(lines, out)),
    "label_studio": Format(
        "Label Studio", "json", lambda lines, out, _: write_label_studio(lines, out)
    ),
    "i2b2": Format("i2b2", "zip", lambda lines, out, _: write_i2b2(lines, out)),
}


def download(authoring: Authoring, format: str) -> tuple[str, bytes]:
    """Return file name and content of the last submitted timeline.

    A format of several files comes as a ZIP. The name contains no record number. Raises KeyError
    for an unknown format, LookupError before the first submission, NoteChanged.
    """
    chosen = FORMATS[format]
    if authoring.timeline is None:
        raise LookupError("nothing is submitted yet")
    encounter = Encounter.objects.select_related("dataset").get(pk=authoring.encounter_id)
    lines = list(export_cases([encounter], Selection(sources=(authoring.timeline.source,))))
    with TemporaryDirectory() as folder:
        out = Path(folder) / "timeline"
        chosen.write(lines, out, encounter.dataset.name)
        content = _zip(out) if out.is_dir() else out.read_bytes()
    return f"timeline-{authoring.public_id}-{format}.{chosen.ending}", content


def _zip(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(path, path.relative_to(folder).as_posix())
    return made.getvalue()
