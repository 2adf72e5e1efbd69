"""A cohort in the layout of MIMIC-IV: stays with a note and charted rows.

Every stay has a note of the demo, and as many rows as MIMIC-IV has for each stay in intensive care.
Stays with the same note have the same rows except for their values, so that results of one can be
stored for the others, too (`benchmarks.support.growth.stored`).
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

#: How many different notes there are; each is run once, for all stays that have it.
KINDS = 4
COHORT = Path(__file__).resolve().parents[3] / "demo" / "cohort"
#: Rows and series of a stay: 3·10⁸ rows over 100,000 notes are 3,000; the issue simulates 3,600.
ROWS, SERIES = 3_600, 300
FIRST_STAY = 20_000_000
HOURS = 240
ADMISSIONS = (
    "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admission_location,"
    "discharge_location,edregtime,edouttime"
)
NOTES = [
    "note_id",
    "subject_id",
    "hadm_id",
    "note_type",
    "note_seq",
    "charttime",
    "storetime",
    "text",
]
#: Stays whose rows are written at once.
BLOCK = 100


def read_notes() -> list[str]:
    """Return notes of the demo's cohort, by case."""
    paths = sorted(COHORT.glob("*/note.txt"))[:KINDS]
    return [path.read_text(encoding="utf-8") for path in paths]


def write_cohort(root: Path, stays: int) -> Path:
    """Write a directory of MIMIC-IV with that many stays."""
    for name in ("hosp", "icu", "note"):
        (root / name).mkdir(parents=True)
    write_stays(root / "hosp" / "admissions.csv", stays)
    write_notes(root / "note" / "discharge.csv", stays)
    names = name_series()
    items = [f"{220_000 + i},{name},,chartevents,Routine" for i, name in enumerate(names)]
    head = "itemid,label,abbreviation,linksto,category"
    (root / "icu" / "d_items.csv").write_text("\n".join([head, *items, ""]))
    write_rows(root / "icu" / "chartevents.csv", stays)
    return root


def write_stays(path: Path, stays: int) -> None:
    """Write admissions of ten days."""
    lines = [
        f"{n},{FIRST_STAY + n},2150-01-01 08:00:00,2150-01-11 08:00:00,,URGENT,CLINIC,HOME,,"
        for n in range(stays)
    ]
    path.write_text("\n".join([ADMISSIONS, *lines, ""]))


def write_notes(path: Path, stays: int) -> None:
    """Write one note a stay; a first line of one length keeps its spans."""
    texts = read_notes()
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(NOTES)
        for n in range(stays):
            text = f"Summary number {n:07}.\n{texts[n % len(texts)]}"
            at = "2150-01-11 08:00:00"
            table.writerow([f"{n}-DS-1", n, FIRST_STAY + n, "DS", 1, at, at, text])


def name_series() -> list[str]:
    """Return names of charted items: those of the demo, then made-up ones."""
    found: dict[str, None] = {}
    for path in sorted(COHORT.glob("*/rows.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            names = (row["event"].partition(":")[2] for row in csv.DictReader(file))
            found |= dict.fromkeys(name.replace(",", " ").replace('"', "") for name in names)
    made_up = (f"Charted observation {n}" for n in range(SERIES))
    return [*filter(None, found), *made_up][:SERIES]


def write_rows(path: Path, stays: int) -> None:
    """Write the charted rows, block by block of stays."""
    kinds = len(read_notes())
    layouts = [draw_layout(kind) for kind in range(kinds)]
    with path.open("wb") as file:
        for first in range(0, stays, BLOCK):
            block = make_rows(layouts, range(first, min(first + BLOCK, stays)))
            block.write_csv(file, include_header=first == 0)


def draw_layout(kind: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the item and the time of each row of the stays of a kind.

    Every item occurs.
    """
    rng = np.random.default_rng(kind)
    items = np.concatenate([np.arange(SERIES), rng.integers(0, SERIES, ROWS - SERIES)])
    seconds = np.sort(rng.integers(0, HOURS * 3600, ROWS))
    moments = np.datetime64("2150-01-01T08:00:00") + seconds.astype("timedelta64[s]")
    return 220_000 + rng.permutation(items), np.char.replace(moments.astype(str), "T", " ")


def make_rows(layouts: Sequence[tuple[np.ndarray, np.ndarray]], stays: range) -> pl.DataFrame:
    """Return the rows of these stays as the table of charted events."""
    rng = np.random.default_rng(stays.start)
    numbers = np.repeat(np.fromiter(stays, dtype=np.int64), ROWS)
    chosen = [layouts[n % len(layouts)] for n in stays]
    moments = np.concatenate([times for _, times in chosen])
    values = rng.normal(90, 20, len(numbers)).round(1)
    return pl.DataFrame(
        {
            "subject_id": numbers,
            "hadm_id": FIRST_STAY + numbers,
            "stay_id": numbers,
            "caregiver_id": 1,
            "charttime": moments,
            "storetime": moments,
            "itemid": np.concatenate([items for items, _ in chosen]),
            "value": values,
            "valuenum": values,
            "valueuom": "mmHg",
            "warning": 0,
        }
    )
