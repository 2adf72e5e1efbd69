"""Read OMOP tables: a published excerpt, and rows worked out by hand."""

from __future__ import annotations

import csv
import gzip
import shutil
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ehr.formats import delimited
from ehr.formats.base import NoteRecord, Rejection, WrongFile
from ehr.formats.omop import files as omop_files
from ehr.formats.omop.reader import Omop
from ehr.formats.stream import NoteBlock
from tests.import_fuzz.omop import make_omop
from tests.paths import DATA

#: Three persons of Eunomia's Synthea27NjParquet, CDM 5.4; it has no notes.
EXCERPT = DATA / "ehr" / "omop"
Row = tuple[str, str, str, str, str, str, str]


def read_rows(source: Omop) -> list[Row]:
    """Return (case, time, event, value, unit, time kind, source) of each row."""
    cases = [e.case_id for e in source.encounters().encounters]
    return [
        (
            cases[place],
            "" if row["time"] is None else row["time"].isoformat(" ", "minutes"),
            *(str(row[c]) for c in ("event", "value", "unit", "time_kind", "source")),
        )
        for file in source.files()
        for block in file.blocks()
        if not isinstance(block, NoteBlock)
        for place, row in zip(block.encounters.tolist(), block.rows.to_pylist(), strict=True)
    ]


def read_notes(source: Omop) -> list[tuple[str, NoteRecord]]:
    """Return (case, note) of each note."""
    cases = [e.case_id for e in source.encounters().encounters]
    blocks = [b for file in source.files() if file.notes for b in file.blocks()]
    return [(cases[p], n) for b in blocks if isinstance(b, NoteBlock) for p, _, n in b.notes]


def find_faults(source: Omop) -> list[tuple[str, int | None, str]]:
    """Return (file, line, field) of every rejection."""
    listed = source.encounters()
    found: list[Rejection] = [*listed.rejections, *listed.refused]
    for file in source.files():
        try:
            found += [r for block in file.blocks() for r in block.rejections]
        except WrongFile as error:
            found.append(error.rejection)
    return [(r.file, r.line, r.field) for r in found]


def with_notes(folder: Path) -> Path:
    """Copy the excerpt and write a note for each of its stays."""
    root = Path(shutil.copytree(EXCERPT, folder / "omop"))
    stays = Omop(root).encounters().encounters
    layout = pq.read_schema(root / "note.parquet")
    notes = [
        {
            "note_id": i,
            "person_id": int(e.subject_key),
            "note_date": e.admitted_at.date(),
            "note_datetime": e.admitted_at,
            "note_title": "Discharge Summary",
            "note_text": f"Note of visit {e.case_id}.\n",
            "visit_occurrence_id": int(e.case_id),
        }
        for i, e in enumerate(stays)
    ]
    pq.write_table(pa.Table.from_pylist(notes, schema=layout), root / "note.parquet")
    return root


def as_old_csv(source: Path, folder: Path) -> Path:
    """Write the tables as CSV: names in capitals, days as 20500131, gzipped."""
    folder.mkdir()
    for path in source.glob("*.parquet"):
        table = pq.read_table(path)
        with gzip.open(folder / f"{path.stem.upper()}.csv.gz", "wt", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(name.upper() for name in table.column_names)
            for row in table.to_pylist():
                writer.writerow(
                    value.strftime("%Y%m%d") if name.endswith("_date") and value else value
                    for name, value in row.items()
                )
    return folder


def test_real_tables_are_read_whole(tmp_path):
    source = Omop(with_notes(tmp_path))
    listed = source.encounters()
    assert (listed.rejections, listed.refused, listed.missing_files) == ((), (), ())
    visits = pq.read_table(EXCERPT / "visit_occurrence.parquet").to_pylist()
    stays = [v for v in visits if v["visit_concept_id"] in (9201, 9203)]
    assert [e.case_id for e in listed.encounters] == [str(v["visit_occurrence_id"]) for v in stays]
    assert len(stays) == 29
    assert find_faults(source) == []
    rows = read_rows(source)
    offered = {
        f.name: sum(b.offered for b in f.blocks()) for f in source.files() if f.path.is_file()
    }
    assert offered["measurement.parquet"] == 2102
    assert {row[6] for row in rows} == {
        "person", "visit_occurrence", "visit_detail", "condition_occurrence",
        "procedure_occurrence", "drug_exposure", "measurement", "observation",
    }  # fmt: skip
    notes = read_notes(source)
    assert {case: note.text for case, note in notes} == {
        e.case_id: f"Note of visit {e.case_id}.\n" for e in listed.encounters
    }
    assert {note.kind for _, note in notes} == {"discharge summary"}


def test_parquet_and_old_csv_give_the_same_rows(tmp_path, monkeypatch):
    root = with_notes(tmp_path)
    one, other = Omop(root), Omop(as_old_csv(root, tmp_path / "csv"))
    assert one.encounters().encounters == other.encounters().encounters
    assert read_notes(one) == read_notes(other)
    rows, again = read_rows(one), read_rows(other)
    # Numbers of Parquet are decimals with a fixed number of digits.
    assert [r[:3] for r in rows] == [r[:3] for r in again]
    assert [r[4:] for r in rows] == [r[4:] for r in again]
    # Neither does the size of blocks change anything.
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 20_000)
    monkeypatch.setattr(omop_files, "BATCH_ROWS", 61)
    assert read_rows(Omop(root)) == rows
    assert read_rows(Omop(tmp_path / "csv")) == again


def test_rows_of_each_table_by_hand(tmp_path):
    make_omop(tmp_path / "o")
    source = Omop(tmp_path / "o")
    first, second = source.encounters().encounters
    assert (first.case_id, first.admitted_at, first.discharged_at, first.subject_key) == (
        "10",
        datetime(2150, 1, 1, 8),
        datetime(2150, 1, 5, 10),
        "1",
    )
    # A stay with days only begins with its first day and ends with its last.
    assert (second.admitted_at, second.discharged_at) == (
        datetime(2150, 3, 1),
        datetime(2150, 3, 3, 23, 59),
    )
    assert [row[1:] for row in read_rows(source) if row[0] == "10"] == [
        ("", "patient:gender:", "MALE", "", "unknown", "person"),
        ("2150-01-01 08:00", "admission:9201:", "", "", "administrative", "visit_occurrence"),
        ("2150-01-05 10:00", "admission:discharge:home", "", "", "administrative", "visit_occurrence"),
        ("2150-01-01 12:00", "transfer:micu:", "", "", "administrative", "visit_detail"),
        ("2150-01-01 12:00", "icu:micu:in", "", "", "administrative", "visit_detail"),
        ("2150-01-02 12:00", "icu:micu:out", "", "", "administrative", "visit_detail"),
        ("2150-01-02 12:00", "transfer:ward:", "", "", "administrative", "visit_detail"),
        ("2150-01-01 00:00", "diagnosis:sepsis:", "A41.9", "date only", "administrative", "condition_occurrence"),
        ("2150-01-02 08:00", "procedure:intubation:start", "0DTJ", "", "performed", "procedure_occurrence"),
        ("2150-01-02 09:00", "procedure:intubation:end", "0DTJ", "", "performed", "procedure_occurrence"),
        ("2150-01-01 10:00", "med:heparin:start", "5", "mg", "administration", "drug_exposure"),
        ("2150-01-01 14:00", "med:heparin:end", "5", "mg", "administration", "drug_exposure"),
        # Without a visit: the stay of its time.
        ("2150-01-01 10:00", "med:heparin:administered", "5", "mg", "administration", "drug_exposure"),
        ("2150-01-01 09:30", "lab:lactate, blood:", "4.1", "mmol/L", "collection", "measurement"),
        ("2150-01-01 15:00", "lab:lactate, blood:", "2", "mmol/L", "collection", "measurement"),
        ("2150-01-02 00:00", "chart:heart rate:", "88", "date only", "charted", "measurement"),
        ("2150-01-01 08:30", "chart:smoking:", "former smoker", "", "charted", "observation"),
        ("2150-01-01 09:00", "specimen:blood:collected", "2", "", "collection", "specimen"),
        # A day without an hour and without a visit: the stay of that day, although it began at 08:00.
        ("2150-01-01 00:00", "specimen:blood:collected", "3", "date only", "collection", "specimen"),
    ]  # fmt: skip
    assert [row[1:4] for row in read_rows(source) if row[0] == "20"] == [
        ("", "patient:gender:", "F"),
        ("2150-03-01 00:00", "admission:262:", ""),
        ("2150-03-03 00:00", "admission:discharge:", ""),
        ("2150-03-01 00:00", "diagnosis:a41.9:", "A41.9"),
        ("2150-03-02 00:00", "procedure:intubation:billed", "0DTJ"),
        ("2150-03-01 00:00", "order:hep:start", "1"),
        ("2150-03-02 00:00", "order:hep:stop", "1"),
        ("2150-03-01 00:00", "specimen:blood:collected", "1"),
        ("2150-03-03 00:00", "admission:death:", "Sepsis"),
    ]
    assert [(case, n.charted_at, n.kind, n.text) for case, n in read_notes(source)] == [
        ("10", datetime(2150, 1, 5, 9), "discharge summary", 'Two\nlines, "quoted".'),
        ("10", datetime(2150, 1, 1), "ed note", "An ED note."),
        ("20", datetime(2150, 3, 3), "discharge summary", "é"),
    ]
    assert find_faults(source) == []


def test_the_names_of_columns_in_5_3_and_the_chosen_visits(tmp_path):
    make_omop(tmp_path / "o")
    path = tmp_path / "o" / "visit_occurrence.csv"
    path.write_text(path.read_text().replace("discharged_to_source", "DISCHARGE_TO_SOURCE"))
    (discharge,) = (r for r in read_rows(Omop(tmp_path / "o")) if r[2].endswith(":home"))
    assert discharge[2] == "admission:discharge:home"
    # A chosen visit may be of any kind.
    found = Omop(tmp_path / "o", ["11", "99"]).encounters()
    assert [e.case_id for e in found.encounters] == ["11"]
    assert [(r.reason, r.case_id) for r in found.rejections] == [("no such visit", "99")]


def test_folders_without_stays_and_files_of_no_table_are_named(tmp_path):
    make_omop(tmp_path / "o")
    path = tmp_path / "o" / "visit_occurrence.csv"
    path.write_text(path.read_text().replace(",9201,", ",9202,").replace(",262,", ",9202,"))
    (tmp_path / "o" / "death.csv").rename(tmp_path / "o" / "death.tsv")
    (tmp_path / "o" / "DRUG_ERA.csv").write_text("x")
    found = Omop(tmp_path / "o").encounters()
    assert [r.reason for r in found.refused] == [
        "no visit is a hospital stay; name visits with --cases"
    ]
    assert found.unread_files == ("death.tsv",)
    assert "death" in found.missing_files


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("visit_occurrence.csv", "10,1,9201", "10,7,9201", [(2, "person_id")]),
        ("visit_occurrence.csv", "10,1,9201", "x,1,9201", [(2, "visit_occurrence_id")]),
        ("visit_occurrence.csv", "10,1,9201", "10,1,inpatient", [(2, "visit_concept_id")]),
        ("visit_occurrence.csv", "20,2,262", "10,2,262", [(4, "visit_occurrence_id")]),
        ("visit_occurrence.csv", "2150-01-01 08:00:00", "soon", [(2, "visit_start_date")]),
        ("visit_occurrence.csv", "2150-01-05 10:00:00", "2149-01-05", [(2, "visit_end_date")]),
        ("visit_occurrence.csv", "10,1,9201,", "10,1,9201,,", [(2, "")]),
        ("condition_occurrence.csv", "1,1,102", "1,x,102", [(2, "person_id")]),
        ("condition_occurrence.csv", "1,1,102", "1,2,102", [(2, "person_id")]),
        ("condition_occurrence.csv", "01-01,10", "01-01,99", [(2, "visit_occurrence_id")]),
        ("condition_occurrence.csv", "01-01,10", "01-01,1o", [(2, "visit_occurrence_id")]),
        ("condition_occurrence.csv", "2150-01-01", "2150-02-30", [(2, "condition_start_date")]),
        ("condition_occurrence.csv", "2150-01-01", "", [(2, "condition_start_date")]),
        ("condition_occurrence.csv", "102,2150-01-01,10", "102,,", [(2, "condition_start_date")]),
        ("condition_occurrence.csv", "0,2150-03-01,20,A41.9", "0,2150-03-01,20,", [(3, "")]),
        ("condition_occurrence.csv", "20,A41.9", "20," + "x" * 2_001, [(3, "")]),
        ("condition_occurrence.csv", "10,A41.9", "10,A\x0041", [(2, "")]),
        ("condition_occurrence.csv", "10,A41.9", '10,"A41.9', [(2, "")]),
        ("condition_occurrence.csv", "visit_occurrence_id", "visit", [(1, "visit_occurrence_id")]),
        ("condition_occurrence.csv", "person_id", "PERSON_ID,person_id", [(1, "person_id")]),
        ("visit_detail.csv", "2150-01-02 12:00:00,MICU", "soon,MICU", [(2, "visit_detail_end_date")]),
        ("death.csv", "2,2150-03-03", "2,", [(2, "death_date")]),
        ("person.csv", "1,8507", "y,8507", [(2, "person_id")]),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_file_line_and_field(tmp_path, name, old, new, expected):
    make_omop(tmp_path / "o")
    path = tmp_path / "o" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    faults = find_faults(Omop(tmp_path / "o"))
    assert [f[1:] for f in faults if f[0] == name] == expected
    # A stay whose visit or person is faulty is refused whole: nothing else is named for it.
    assert name in ("visit_occurrence.csv", "person.csv") or len(faults) == len(expected)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("An ED note.", "", "note_text"),
        ("An ED note.", "a\x00b", ""),
        ("2,1,2150-01-01,", "2,1,,", "note_date"),
        ("2,1,2150-01-01,", "2,1,soon,", "note_date"),
        ("note.,10", "note.,", "visit_occurrence_id"),
        ("note.,10", "note.,99", "visit_occurrence_id"),
        ("2,1,2150-01-01,", "2,2,2150-01-01,", "person_id"),
    ],
)
def test_a_faulty_note_is_named(tmp_path, old, new, field):
    make_omop(tmp_path / "o")
    path = tmp_path / "o" / "note.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new, 1).encode()))
    assert find_faults(Omop(tmp_path / "o")) == [("note.csv.gz", 4, field)]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [("101,Heart rate,", "101,", 3), ("102,Sepsis", "101,Sepsis", 4), ("102,", "x,", 4)],
)
def test_a_faulty_concept_refuses_the_tables_whose_names_it_gives(tmp_path, old, new, line):
    make_omop(tmp_path / "o")
    path = tmp_path / "o" / "concept.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    found = find_faults(Omop(tmp_path / "o"))
    assert {(name, at) for name, at, _ in found} == {("concept.csv", line)}
    assert len(found) == len(Omop(tmp_path / "o").files())


def as_athena(folder: Path) -> Path:
    """Write the concepts with tabs and loose quotation marks."""
    path = folder / "concept.csv"
    rows = [[c.replace("ED note", '"ED" note') for c in r] for r in csv.reader(path.open())]
    path.unlink()
    (folder / "CONCEPT.csv").write_text("".join("\t".join(row) + "\n" for row in rows))
    return folder / "CONCEPT.csv"


def test_concepts_of_athena_are_separated_by_tabs(tmp_path):
    for name in ("commas", "tabs"):
        make_omop(tmp_path / name)
    path = as_athena(tmp_path / "tabs")
    one, other = Omop(tmp_path / "commas"), Omop(tmp_path / "tabs")
    assert read_rows(one) == read_rows(other)
    assert [n.kind for _, n in read_notes(other)][1] == '"ed" note'
    whole = path.read_bytes()
    for damaged in (whole.replace(b"101\t", b"101\t\t"), whole.replace(b"101\t", b"101,")):
        path.write_bytes(damaged)
        assert {fault[:2] for fault in find_faults(Omop(tmp_path / "tabs"))} == {("CONCEPT.csv", 3)}
    for damaged in (whole.replace(b"Sepsis", b"\xff"), whole.replace(b"concept_name", b"name")):
        path.write_bytes(damaged)
        assert {fault[0] for fault in find_faults(Omop(tmp_path / "tabs"))} == {"CONCEPT.csv"}
