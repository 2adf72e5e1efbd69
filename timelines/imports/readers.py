"""Every foreign format by its name on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from timelines.imports.brat import read_brat
from timelines.imports.doccano import read_doccano
from timelines.imports.event_table import read_bsv, read_csv
from timelines.imports.i2b2 import read_i2b2
from timelines.imports.label_studio import read_label_studio
from timelines.imports.tables import read_jsonl, read_meds, read_parquet
from timelines.imports.values import Cases, Fault, Foreign

Reader = Callable[[Path, Cases], Iterator[Foreign | Fault]]

READERS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "parquet": read_parquet,
    "meds": read_meds,
    "bsv": read_bsv,
    "brat": read_brat,
    "doccano": read_doccano,
    "label_studio": read_label_studio,
    "i2b2": read_i2b2,
}
