"""A small OMOP folder, and what a reader of a few lines makes of it.

The reader shares no code with the importer: every line is stored, rejected or left out.
"""

from __future__ import annotations

import gzip
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ehr.formats.base import EncounterRecord, Rejection
from ehr.formats.stream import StreamFile
from tests.import_fuzz import oracle

STAYS = {9201, 262, 9203, 8717, 32037, 581379, 8971, 8920}
LONG = 1_800
#: table → (beginning of its time, beginning of its end, beginning of its name's columns).
TABLES = {
    "visit_detail": ("visit_detail_start", "visit_detail_end", "visit_detail"),
    "condition_occurrence": ("condition_start", "", "condition"),
    "procedure_occurrence": ("procedure", "procedure_end", "procedure"),
    "drug_exposure": ("drug_exposure_start", "drug_exposure_end", "drug"),
    "measurement": ("measurement", "", "measurement"),
    "observation": ("observation", "", "observation"),
    "specimen": ("specimen", "", "specimen"),
    "death": ("death", "", ""),
}
PERSON = (
    "person_id,gender_concept_id,year_of_birth,gender_source_value\n1,8507,1950,M\n2,0,1960,F\n"
)
#: A day with hours; a stay in capitals with days only; an outpatient visit.
VISIT = (
    "visit_occurrence_id,person_id,visit_concept_id,visit_start_date,visit_start_datetime,"
    "visit_end_date,visit_end_datetime,visit_source_value,discharged_to_source_value\n"
    "10,1,9201,2150-01-01,2150-01-01 08:00:00,2150-01-05,2150-01-05 10:00:00,x,Home\n"
    "11,1,9202,2150-02-01,2150-02-01 08:00:00,2150-02-01,2150-02-01 09:00:00,x,\n"
    "20,2,262,21500301,,21500303,,y,\n"
)
NOTE = (
    "note_id,person_id,note_date,note_datetime,note_class_concept_id,note_title,note_text,"
    "visit_occurrence_id\n"
    '1,1,2150-01-05,2150-01-05 09:00:00,0,Discharge summary,"Two\nlines, ""quoted"".",10\n'
    "2,1,2150-01-01,,3,,An ED note.,10\n3,2,2150-03-03,,0,Discharge summary,é,20\n"
    "4,1,2150-02-01,,0,,Of another visit.,11\n"
)
MEASUREMENT = {
    "MEASUREMENT_ID": [1, 2, 3, 4, 5],
    "PERSON_ID": [1, 1, 1, 2, 1],
    "MEASUREMENT_CONCEPT_ID": [100, 100, 101, 100, 100],
    "MEASUREMENT_DATE": [date(2150, 1, d) for d in (1, 1, 2, 2, 2)],
    "MEASUREMENT_DATETIME": [
        datetime(2150, 1, 1, 9, 30), datetime(2150, 1, 1, 15), None, None, datetime(2151, 1, 1)
    ],
    "VALUE_AS_NUMBER": [4.1, 2.0, 88.0, 1.0, 2.5],
    "UNIT_CONCEPT_ID": [200, 200, 0, 200, 200],
    "VISIT_OCCURRENCE_ID": [10, None, 10, None, None],
    "MEASUREMENT_SOURCE_VALUE": ["50813", "50813", "HR", "50813", "50813"],
    "VALUE_SOURCE_VALUE": ["4.1", None, None, None, None],
}  # fmt: skip
OTHERS = {
    "visit_detail": (
        "visit_detail_id,person_id,visit_detail_concept_id,visit_detail_start_date,"
        "visit_detail_start_datetime,visit_detail_end_date,visit_detail_end_datetime,"
        "visit_detail_source_value,visit_occurrence_id\n"
        "1,1,32037,2150-01-01,2150-01-01 12:00:00,2150-01-02,2150-01-02 12:00:00,MICU,10\n"
        "2,1,9201,2150-01-02,2150-01-02 12:00:00,,,Ward,10\n"
    ),
    "condition_occurrence": (
        "condition_occurrence_id,person_id,condition_concept_id,condition_start_date,"
        "visit_occurrence_id,condition_source_value\n1,1,102,2150-01-01,10,A41.9\n"
        "2,2,0,2150-03-01,20,A41.9\n3,1,102,2150-02-01,11,A41.9\n"
    ),
    "procedure_occurrence": (
        "procedure_occurrence_id,person_id,procedure_concept_id,procedure_date,"
        "procedure_datetime,procedure_end_date,procedure_end_datetime,"
        "procedure_type_concept_id,visit_occurrence_id,procedure_source_value\n"
        "1,1,103,2150-01-02,2150-01-02T08:00,2150-01-02,2150-01-02T09:00,32817,10,0DTJ\n"
        "2,2,103,2150-03-02,,,,32854,20,0DTJ\n"
    ),
    "DRUG_EXPOSURE": (
        "DRUG_EXPOSURE_ID,PERSON_ID,DRUG_CONCEPT_ID,DRUG_EXPOSURE_START_DATE,"
        "DRUG_EXPOSURE_START_DATETIME,DRUG_EXPOSURE_END_DATE,DRUG_EXPOSURE_END_DATETIME,"
        "DRUG_TYPE_CONCEPT_ID,QUANTITY,VISIT_OCCURRENCE_ID,DRUG_SOURCE_VALUE,"
        "DOSE_UNIT_SOURCE_VALUE\n"
        "1,1,104,2150-01-01,2150-01-01 10:00:00,2150-01-01,2150-01-01 14:00:00,32818,5,10,hep,mg\n"
        "2,1,104,2150-01-01,2150-01-01 10:00:00,2150-01-01,2150-01-01 10:00:00,32818,5,,hep,mg\n"
        "3,2,0,20500101,,20500101,,32838,1,,hep,mg\n4,2,0,21500301,,21500302,,32838,1,,hep,mg\n"
    ),
    "observation": (
        "observation_id,person_id,observation_concept_id,observation_date,observation_datetime,"
        "value_as_string,visit_occurrence_id,observation_source_value\n"
        "1,1,105,2150-01-01,2150-01-01 08:30:00,former smoker,10,smoke\n"
    ),
    "specimen": (
        "specimen_id,person_id,specimen_concept_id,specimen_date,specimen_datetime,quantity\n"
        "1,1,106,2150-01-01,2150-01-01 09:00:00,2\n2,2,106,2150-03-01,,1\n"
        "3,1,106,2150-07-01,,2\n4,1,106,2150-01-01,,3\n"
    ),
    "death": ("person_id,death_date,death_datetime,cause_source_value\n2,2150-03-03,,Sepsis\n"),
    "concept": (
        "concept_id,concept_name,domain_id,vocabulary_id,concept_class_id,concept_code\n"
        '100,"Lactate, blood",Measurement,LOINC,Lab Test,2524-7\n'
        "101,Heart rate,Measurement,LOINC,Clinical Observation,8867-4\n"
        "102,Sepsis,Condition,SNOMED,Clinical Finding,91302008\n"
        "103,Intubation,Procedure,SNOMED,Procedure,112798008\n104,Heparin,Drug,RxNorm,Ingredient,5224\n"
        "105,Smoking,Observation,SNOMED,Observable,229819007\n"
        "106,Blood,Specimen,SNOMED,Specimen,119297000\n200,millimole per liter,Unit,UCUM,Unit,mmol/L\n"
        "8507,MALE,Gender,Gender,Gender,M\n3,ED note,Meas Value,LOINC,Doc,34878-9\n"
    ),
}


def make_omop(root: Path) -> None:
    """Every table; CSV, gzip and Parquet, some in capitals."""
    root.mkdir(parents=True)
    (root / "person.csv").write_text(PERSON)
    (root / "visit_occurrence.csv").write_text(VISIT)
    (root / "note.csv.gz").write_bytes(gzip.compress(NOTE.encode(), mtime=0))
    for name, text in OTHERS.items():
        (root / f"{name}.csv").write_text(text)
    pq.write_table(pa.table(MEASUREMENT), root / "MEASUREMENT.parquet", compression="none")


@dataclass
class Folder:
    """The lines of the tables that decide what others are."""

    visits: dict[int, EncounterRecord]
    known: set[int]
    names: dict[str, str] = field(default_factory=dict)

    def persons(self) -> set[int]:
        """The persons of the stays."""
        return {int(e.subject_key) for e in self.visits.values()}


def lines_of(path: Path) -> list[tuple[int, dict[str, str] | None]]:
    """Return (line, cells by name in lower case), None for a wrong width."""
    if path.suffix == ".parquet":
        table = oracle.read_table(path)
        # A column of lists has no texts; a file is refused if its rows need that column.
        flat = [i for i, f in enumerate(table.schema) if not pa.types.is_nested(f.type)]
        table = table.select(flat)
        texts = [[str(v or "") for v in c.cast(pa.string()).to_pylist()] for c in table.columns]
        names = [name.lower() for name in table.column_names]
        rows = zip(*texts, strict=True)
        return [(i, dict(zip(names, row, strict=True))) for i, row in enumerate(rows, start=2)]
    (_, header), *rest = oracle.records(path)
    names = [name.strip().lower() for name in header]
    return [
        (line, dict(zip(names, cells, strict=True)) if len(cells) == len(names) else None)
        for line, cells in rest
    ]


def number(text: str) -> int | None:
    """Return an identifier; None for nothing, -1 for no number."""
    text = oracle.trim(text)
    plain = text.removesuffix(".0")
    if plain.isascii() and plain.isdigit() and len(plain) < 19:
        return int(plain)
    return -1 if text else None


def moment(cells: dict[str, str], beginning: str) -> tuple[str, datetime | None, bool]:
    """Return (text, time, whether it is a day)."""
    text = oracle.trim(cells.get(f"{beginning}_datetime", ""))
    text = text or oracle.trim(cells.get(f"{beginning}_date", ""))
    if len(text) >= 8 and text[:8].isascii() and text[:8].isdigit() and text[8:9] in ("", "T", " "):
        text = f"{text[:4]}-{text[4:6]}-{text[6:8]}{text[8:]}"
    return text, oracle.read_time(text), len(text) == 10


def read_folder(root: Path, found: Collection[EncounterRecord]) -> Folder:
    """Read the tables that decide what the lines of others are."""
    tables = {
        path.name.lower().split(".")[0]: path
        for path in root.iterdir()
        if path.name.lower().endswith((".csv", ".csv.gz", ".parquet"))
    }
    known = {
        n
        for _, cells in lines_of(tables["visit_occurrence"])
        if cells and (n := number(cells["visit_occurrence_id"])) is not None and n >= 0
    }
    names = {}
    if "concept" in tables:
        names = {
            oracle.trim(cells["concept_id"]): oracle.trim(cells["concept_name"])
            for _, cells in lines_of(tables["concept"])
            if cells
        }
    return Folder({int(e.case_id): e for e in found}, known, names)


def check_visits(
    root: Path, found: Collection[EncounterRecord], rejections: Collection[Rejection]
) -> None:
    """Check that each stay is as its line says, or its line is named."""
    names = [f"visit_occurrence{s}" for s in (".csv", ".csv.gz", ".parquet")]
    (path,) = (p for p in root.iterdir() if p.name.lower() in names)
    named = {r.line for r in rejections}
    taken: dict[int, EncounterRecord] = {int(e.case_id): e for e in found}
    left = dict(taken)
    for line, cells in lines_of(path):
        if cells is None:
            assert line in named
            continue
        concept, case = number(cells["visit_concept_id"]), number(cells["visit_occurrence_id"])
        if concept not in STAYS and concept not in (-1, None):
            assert line not in named
            continue
        if line in named:
            continue
        assert case is not None
        e = left.pop(case)
        assert (e.subject_key, e.anchor) == (str(number(cells["person_id"])), "admission")
        assert e.admitted_at == moment(cells, "visit_start")[1]
        text, end, day = moment(cells, "visit_end")
        assert e.discharged_at == (end + timedelta(hours=23, minutes=59) if end and day else end), (
            text
        )
    assert not left, "a stay that no line names"


def check_file(file: StreamFile, stored, rejected: set[int], offered: int, encounters) -> None:
    """Check that each line has the fate that its content gives it."""
    folder = read_folder(file.path.parent, encounters)
    lines = lines_of(file.path)
    assert offered == len(lines)
    table = file.path.name.lower().split(".")[0]
    rows: dict[int, list[tuple[int, dict[str, object]]]] = {}
    for line, place, row in stored:
        rows.setdefault(line, []).append((place, row))
    for line, cells in lines:
        if cells is None:
            assert (line in rejected) == (table != "visit_occurrence")
            continue
        if any("\x00" in cell for cell in cells.values()):
            continue
        if table == "person":
            stays = [
                i
                for i, e in enumerate(encounters)
                if int(e.subject_key) == number(cells["person_id"])
            ]
            assert sorted(p for p, _ in rows.get(line, [])) in (stays, [])
        elif table == "note":
            _check_note(line, cells, rows.get(line, []), rejected, folder, encounters)
        elif table in TABLES:
            _check_row(table, line, cells, rows.get(line, []), rejected, folder, encounters)


def _find_owner(cells: dict[str, str], folder: Folder) -> tuple[str, EncounterRecord | None]:
    """Return (fate, stay); "time" if the time decides."""
    visit, person = number(cells.get("visit_occurrence_id", "")), number(cells["person_id"])
    ours = person in folder.persons()
    if visit in folder.visits and visit is not None:
        e = folder.visits[visit]
        return ("stored", e) if int(e.subject_key) == person else ("rejected", None)
    if visit is not None and visit >= 0:
        return ("left" if visit in folder.known or not ours else "rejected"), None
    if person is None or person < 0:
        return "rejected", None
    if visit is None:
        return "time", None
    return ("rejected" if ours else "left"), None


def _check_row(table, line, cells, rows, rejected, folder, encounters) -> None:
    begin, end, prefix = TABLES[table]
    fate, e = _find_owner(cells, folder)
    _, time, day = moment(cells, begin)
    person = number(cells["person_id"])
    if fate == "time":
        stays = [s for s in folder.visits.values() if int(s.subject_key) == person]
        if time is None:
            fate = "rejected" if stays else "left"
        else:
            inside = [s for s in stays if _includes(s, time, day)]
            e = max(inside, key=lambda s: s.admitted_at, default=None)
            fate = "stored" if inside else "left"
    name = _name(cells, prefix, folder.names) if prefix else "death"
    if fate == "stored" and (time is None or not name):
        fate = "rejected"
    if len(name.encode()) > LONG or len(cells.get("qualifier_source_value", "").encode()) > LONG:
        assert not rows or len(name.encode()) < 2_001
        return
    where = (table, line, fate)
    assert bool(rows) == (fate == "stored") or (fate != "stored" and end), where
    if fate == "left":
        assert line not in rejected or end, where
    elif fate == "rejected":
        assert line in rejected, where
    elif line in rejected:
        assert end, where
        assert moment(cells, end)[1] is None, where
    for place, row in rows:
        assert fate != "stored" or encounters[place] == e or end, where
        assert row["time"] in (time, moment(cells, end)[1] if end else time)
        assert " ".join(name.lower().split()) in " ".join(str(row["event"]).split())


def _includes(e: EncounterRecord, time: datetime, day: bool) -> bool:
    start = datetime.combine(e.admitted_at, datetime.min.time()) if day else e.admitted_at
    return start <= time <= (e.discharged_at or e.admitted_at)


def _name(cells: dict[str, str], prefix: str, names: dict[str, str]) -> str:
    def cell(column: str) -> str:
        return oracle.trim(cells.get(f"{prefix}_{column}", ""))

    known = {str(number(k)): v for k, v in names.items()}
    ids = [str(number(cell(c)) or "") for c in ("concept_id", "source_concept_id")]
    found = [known.get(i, "") for i in ids if i not in ("", "0", "-1")]
    own = cell("concept_id")
    return next(filter(None, [*found, cell("source_value"), own if own != "0" else ""]), "")


def _check_note(line, cells, rows, rejected, folder, encounters) -> None:
    fate, e = _find_owner(cells, folder)
    if fate == "time":
        fate = "rejected" if number(cells["person_id"]) in folder.persons() else "left"
    text = cells["note_text"]
    _, time, _ = moment(cells, "note")
    has_words = bool(text.replace("\ufeff", "").strip())
    if fate == "stored" and (not has_words or len(text.encode()) > 1_000_000 or time is None):
        fate = "rejected"
    assert bool(rows) == (fate == "stored"), (line, fate)
    assert (line in rejected) == (fate == "rejected"), (line, fate)
    for place, row in rows:
        assert encounters[place] == e
        assert oracle.trim(str(row["text"])) == oracle.trim(text)
