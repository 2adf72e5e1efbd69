"""What a format hands to the import: encounters, notes, rows in columns, and what it had to reject."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pyarrow as pa


class FormatError(ValueError):
    """The path as a whole cannot be read in this format; the message names the path and what was expected there."""

    log_safe = True


@dataclass(frozen=True, slots=True)
class Rejection:
    """A piece of input that was not taken. `line` counts from 1 and includes a header; `raw` is the text at fault."""

    file: str
    reason: str
    line: int | None = None
    field: str = ""
    raw: str = ""
    case_id: str = ""


@dataclass(frozen=True, slots=True)
class EncounterRecord:
    """One stay. Times are naive local; `anchor` is "admission" or "presentation"."""

    case_id: str
    admitted_at: datetime
    discharged_at: datetime | None = None
    title: str = ""
    anchor: str = "admission"
    subject_key: str = ""


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """A note exactly as it is to be shown."""

    text: str
    charted_at: datetime | None = None
    kind: str = "discharge summary"


@dataclass(frozen=True)
class CaseRecord:
    """One case, whole. `encounter` None: the case cannot be taken, `rejections` say why. `rows` as `ehr.schema.ROWS`.

    `invalid_times` counts the rows left out because their time could not be read.
    """

    folder: Path
    sha256: str
    encounter: EncounterRecord | None
    notes: tuple[NoteRecord, ...] = ()
    rows: pa.Table | None = None
    invalid_times: int = 0
    rejections: tuple[Rejection, ...] = field(default=())
