"""A small valid input of each format, with everything a format allows.

Quoted line breaks, gzip and Parquet among it.
"""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.import_fuzz.notes import make_text
from tests.import_fuzz.omop import make_omop
from tests.paths import DATA
from tests.worlds.ehr_cases import ROWS, write_case
from tests.worlds.fhir_exports import make_stay, write_bulk, write_bundle, write_lines

MIMIC = DATA / "ehr" / "mimic_iv"
MIMIC_FILES = (
    "hosp/admissions", "hosp/diagnoses_icd", "hosp/d_icd_diagnoses", "hosp/labevents", "hosp/d_labitems", "hosp/emar", "hosp/emar_detail",
    "hosp/omr", "icu/chartevents", "icu/d_items", "note/discharge",
)  # fmt: skip
FEW = ("Patient", "Encounter", "Observation")
MORE = '2150-01-01T16:00:00,"micro:urine\nculture:","two\r\nlines, ""quoted""",,micro,collection\n2150-01-02,chart:x:,é,,,charted\n'
COLUMNS = ("t", "event", "value", "unit", "source", "time_kind")
REFERENCE = {
    "start": 0,
    "end": 7,
    "mention": "Lactate",
    "time": 1.5,
    "lower": 1,
    "upper": 2,
    "known": 1,
    "rows": [1],
    "why": "x",
}


def _parquet(path: Path) -> None:
    cells = [line.split(",") for line in ROWS.splitlines()[1:]]
    pq.write_table(
        pa.table({name: [row[i] for row in cells] for i, name in enumerate(COLUMNS)}),
        path,
        compression="none",
    )


def make_cases(root: Path) -> None:
    """Four cases: plain with a reference, gzipped, Parquet, notes only."""
    folder = write_case(root, "one", rows=ROWS + MORE)
    (folder / "reference.jsonl").write_text(
        json.dumps(REFERENCE) + "\n" + json.dumps({**REFERENCE, "time": None, "lower": None}) + "\n"
    )
    folder = write_case(root, "two", note="Étude.\r\nTwo lines.")
    (folder / "rows.csv").unlink()
    (folder / "rows.csv.gz").write_bytes(gzip.compress((ROWS + MORE).encode(), mtime=0))
    folder = write_case(root, "three", title="", discharged_at=None, anchor="presentation")
    (folder / "rows.csv").unlink()
    _parquet(folder / "rows.parquet")
    folder = write_case(root, "four", admitted_at="2150-01-01T08:00:00+01:00")
    (folder / "rows.csv").unlink()
    (folder / "notes").mkdir()
    (folder / "notes" / "2150-01-01T08-30__ed note.txt").write_text("An ED note.")
    (folder / "notes" / "21500102.txt").write_text("A second summary.")


def make_csv(root: Path) -> None:
    """Four cases with rows, and one with notes only.

    encounters.csv names three of them.
    """
    root.mkdir(parents=True, exist_ok=True)
    (root / "a.csv").write_bytes((ROWS + MORE).encode())
    (root / "b.csv.gz").write_bytes(gzip.compress((ROWS + MORE).encode(), mtime=0))
    _parquet(root / "c.parquet")
    (root / "d.csv").write_bytes(ROWS.replace("\n", "\r\n").encode())
    (root / "a.txt").write_text("A note of a.")
    (root / "a__2150-01-01T08-30__ed note.txt").write_text("Another note of a.")
    (root / "e__21500101.txt").write_text("A note of e.")
    (root / "encounters.csv").write_text(
        "case_id,admitted_at,discharged_at,title\n"
        'a,2150-01-01T07:00:00,2150-01-03T08:00:00,"x, y"\n'
        "b,2150-01-01 06:30:00Z,,\ne,2150-01-01,,\n"
    )


def make_mimic_iv(root: Path) -> None:
    """Write the excerpt with tables of every kind of assignment.

    One of them is gzipped.
    """
    for name in MIMIC_FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(MIMIC / f"{name}.csv", root / f"{name}.csv")
    # A line that may be of any stay of its subject.
    with (root / "hosp" / "labevents.csv").open("a") as file:
        file.write("900,10007928,,900,50813,,,,1.0,1.0,mmol/L,0.5,2,,ROUTINE,\n")
    plain = root / "icu" / "chartevents.csv"
    (root / "icu" / "chartevents.csv.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()


def make_meds(root: Path) -> None:
    """Two shards: admissions with labs, a birth and a static fact."""
    (root / "data").mkdir(parents=True)
    (root / "metadata").mkdir()
    for shard, subjects in (("0", (1, 2)), ("1", (3,))):
        rows: list[tuple[int, datetime | None, str, float | None, str | None]] = []
        for subject in subjects:
            rows += [
                (subject, None, "GENDER//F", None, None),
                (subject, datetime(2080, 1, 1), "MEDS_BIRTH", None, None),
            ]
            rows += [(subject, datetime(2150, 1, 1, 8), "HOSPITAL_ADMISSION//URGENT", None, None)]
            rows += [
                (subject, datetime(2150, 1, 1, 9 + i), "LAB//50813//mmol/L", 1.5 + i, None)
                for i in range(4)
            ]
            rows += [(subject, datetime(2150, 1, 2), "DIAGNOSIS//ICD//10//A41", None, "Sepsis")]
            rows += [
                (subject, datetime(2150, 1, 2, 1), "LAB//50813//mmol/L", 7.5, text)
                for text in ("HIGH", "___", "8")
            ]
            rows += [(subject, datetime(2150, 1, 3), "HOSPITAL_DISCHARGE//HOME", None, None)]
            rows += [(subject, datetime(2151, 1, 1), "LAB//50813//mmol/L", 9.0, None)]
        columns = list(zip(*rows, strict=True))
        types = [pa.int64(), pa.timestamp("us"), pa.string(), pa.float32(), pa.string()]
        names = ["subject_id", "time", "code", "numeric_value", "text_value"]
        table = pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)})
        pq.write_table(table, root / "data" / f"{shard}.parquet", compression="none")
    codes = {"code": ["LAB//50813//mmol/L", "X"], "description": ["Lactate", "y"]}
    pq.write_table(pa.table(codes), root / "metadata" / "codes.parquet")


def make_fhir(root: Path) -> None:
    """A bulk export, Bundles, a single resource and an attachment file."""
    one, two, three = make_stay("one"), make_stay("two", day="2150-02-03"), make_stay("three")
    write_bulk(root, one)
    write_lines(root / "more" / "two.ndjson.gz", two)
    write_bundle(root / "Bundle.json", three, indent=1)
    document = next(r for r in make_stay("four") if r["resourceType"] == "DocumentReference")
    document["content"] = [{"attachment": {"contentType": "text/plain", "url": "four.txt"}}]
    (root / "four.txt").write_text("A note of four.")
    (root / "document.json").write_text(json.dumps(document))
    write_bundle(root / "four.json.gz", [r for r in make_stay("four") if r["resourceType"] in FEW])


WORLDS = {
    "cases": make_cases,
    "csv": make_csv,
    "mimic_iv": make_mimic_iv,
    "meds": make_meds,
    "omop": make_omop,
    "text": make_text,
    "fhir": make_fhir,
}
