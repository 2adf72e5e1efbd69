"""An author's own submitted timeline as a file.

It is available in every format of `timelines.transfer.writers`.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from ehr.models import Encounter
from timelines.models import Authoring
from timelines.transfer.lines import Selection, export_cases
from timelines.transfer.writers import FORMATS, Options


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
        chosen.write(lines, out, Options(encounter.dataset.name))
        content = _zip(out) if out.is_dir() else out.read_bytes()
    return f"timeline-{authoring.public_id}-{format}.{chosen.ending or 'zip'}", content


def _zip(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(path, path.relative_to(folder).as_posix())
    return made.getvalue()
