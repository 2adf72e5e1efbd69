"""Every foreign format by its name on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from timelines.formats.brat.reader import read_brat
from timelines.formats.doccano.reader import read_doccano
from timelines.formats.event_table.reader import read_bsv, read_csv
from timelines.formats.i2b2.reader import read_i2b2
from timelines.formats.label_studio.reader import read_label_studio
from timelines.formats.tables.reader import read_jsonl, read_meds, read_parquet
from timelines.formats.values import Cases, Fault, Foreign

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
