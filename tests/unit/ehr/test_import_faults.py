"""Faults of inputs are named, and the rest is read, in each format.

These were once lost or changed without a message.
"""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ehr.formats.base import CaseRecord, WrongFile
from ehr.formats.cases import read_case
from ehr.formats.csv.reader import PlainRows
from ehr.formats.limits import Limits
from ehr.formats.meds.reader import Meds
from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.row_files import read_rows
from ehr.formats.stream import StreamBlock
from tests.paths import DATA
from tests.worlds.ehr_cases import ROWS, write_case

MIMIC = DATA / "ehr" / "mimic_iv"
LISTED = "case_id,admitted_at,discharged_at,title\n"


def plain(folder: Path, listing: str, **files: str) -> PlainRows:
    """A folder of plain rows with an encounters.csv."""
    for name, text in ({"a": ROWS, "b": ROWS} | files).items():
        (folder / f"{name}.csv").write_text(text)
    (folder / "encounters.csv").write_text(LISTED + listing)
    return PlainRows(folder)


def summary(
    source: PlainRows,
) -> tuple[list[tuple[str, datetime, datetime | None]], list[tuple[str, int | None, str]]]:
    """Return the accepted encounters and the rejections.

    (case, admission, discharge) and (file, line, field).
    """
    found = source.encounters()
    taken = [(e.case_id, e.admitted_at, e.discharged_at) for e in found.encounters]
    return taken, [(r.file, r.line, r.field) for r in (*found.rejections, *found.refused)]


A, B = (
    "a,2150-01-01T07:00:00,2150-01-03T08:00:00,x\n",
    "b,2150-01-01T06:00:00,2150-01-03T08:00:00,x\n",
)
AT_A = ("a", datetime(2150, 1, 1, 7), datetime(2150, 1, 3, 8))


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("b,2150-01-01T06:00:00\n", [("encounters.csv", 3, ""), ("b.csv", None, "")]),
        ("b,2150-01-01T06:00:00,soon,x\n", [("encounters.csv", 3, "discharged_at")]),
        ("b,,2150-01-03T08:00:00,x\n", [("encounters.csv", 3, "admitted_at")]),
        ("b,0000-01-01,,x\n", [("encounters.csv", 3, "admitted_at")]),
        ("b,10000-01-01,,x\n", [("encounters.csv", 3, "admitted_at")]),
        ("b,2150-01-01T06:00:00,2149-01-03T08:00:00,x\n", [("encounters.csv", 3, "discharged_at")]),
        (f"b,2150-01-01T06:00:00,,{'x' * 501}\n", [("encounters.csv", 3, "title")]),
        ("bb,2150-01-01T06:00:00,,x\n", [("encounters.csv", 3, "case_id"), ("b.csv", None, "")]),
        (B + "b,2150-01-01T05:00:00,,x\n", [("encounters.csv", 4, "case_id")]),
    ],
)
def test_a_faulty_line_of_encounters_refuses_its_case_and_never_moves_its_anchor(
    tmp_path, line, refused
):
    taken, rejected = summary(plain(tmp_path, A + line))
    assert taken == [AT_A]
    assert rejected == refused


def test_a_case_id_with_a_blank_is_the_case(tmp_path):
    taken, rejected = summary(
        plain(tmp_path, A + " b ,2150-01-01T06:00:00,2150-01-03T08:00:00,x\n")
    )
    assert taken == [AT_A, ("b", datetime(2150, 1, 1, 6), datetime(2150, 1, 3, 8))]
    assert rejected == []


def test_a_case_that_encounters_does_not_name_begins_at_its_first_row(tmp_path):
    assert summary(plain(tmp_path, A)) == ([AT_A, ("b", datetime(2150, 1, 1, 8), None)], [])


@pytest.mark.parametrize("name", ["encounters.csv.gz", "Encounters.CSV", "ENCOUNTERS.csv.GZ"])
def test_encounters_gzipped_or_spelled_in_capitals_are_read(tmp_path, name):
    plain(tmp_path, A + "b,soon,,x\n")
    content = (tmp_path / "encounters.csv").read_bytes()
    (tmp_path / "encounters.csv").unlink()
    (tmp_path / name).write_bytes(
        gzip.compress(content) if name.lower().endswith(".gz") else content
    )
    assert summary(PlainRows(tmp_path)) == ([AT_A], [(name, 3, "admitted_at")])
    assert PlainRows(tmp_path).encounters().unread_files == ()
    assert summary(PlainRows(tmp_path / "a.csv"))[0] == [AT_A]


@pytest.mark.parametrize(
    "name", ["encounters.parquet", "encounters.tsv", "Encounters.xlsx", "encounters.csv.bak"]
)
def test_encounters_that_cannot_be_read_are_refused_before_any_case(tmp_path, name):
    source = plain(tmp_path, A + B)
    (tmp_path / "encounters.csv").rename(tmp_path / name)
    source = PlainRows(tmp_path)
    with pytest.raises(WrongFile) as caught:
        source.encounters()
    assert caught.value.rejection.file == name


def test_two_files_of_encounters_are_refused(tmp_path):
    source = plain(tmp_path, A + B)
    (tmp_path / "encounters.csv.bak").write_text("x")
    assert source.encounters().encounters
    for name in ("Encounters.csv", "encounters.csv.gz", "encounters.parquet"):
        (tmp_path / name).write_text(LISTED + A)
        with pytest.raises(WrongFile, match="twice"):
            PlainRows(tmp_path).encounters()
        (tmp_path / name).unlink()


def test_files_that_belong_to_nothing_are_named(tmp_path):
    source = plain(tmp_path, A + B)
    for name in ("c.txt", "c.tsv", "README.md", ".hidden"):
        (tmp_path / name).write_text("x")
    (tmp_path / "a.parquet").write_bytes(b"")
    source = PlainRows(tmp_path, None)
    found = source.encounters()
    assert found.unread_files == ("c.tsv",)
    assert [r.file for r in found.refused] == ["a.csv", "a.parquet", "note/c.txt"]
    assert [r.reason for r in PlainRows(tmp_path, ["zz"]).encounters().refused] == ["no such case"]


def test_a_damaged_encounters_file_is_refused_with_its_line(tmp_path):
    source = plain(tmp_path, A)
    (tmp_path / "encounters.csv").write_bytes(LISTED.encode() + A.encode() + b"b,\xff,,\n")
    with pytest.raises(WrongFile) as caught:
        source.encounters()
    assert (caught.value.rejection.file, caught.value.rejection.line) == ("encounters.csv", 3)


def test_limits_of_a_case(tmp_path):
    for limits, word in (
        (Limits(case_rows=3), "IMPORT_CASE_ROWS"),
        (Limits(case_bytes=50), "IMPORT_CASE_BYTES"),
    ):
        plain(tmp_path, A + B, a=ROWS.splitlines()[0] + "\n")
        assert [
            r.reason
            for r in PlainRows(tmp_path, None, limits).encounters().refused
            if word in r.reason
        ]
        folder = write_case(tmp_path / "cases")
        assert word in read_case(folder, limits=limits).rejections[0].reason
    assert (
        "IMPORT_NOTE_BYTES" in read_case(folder, limits=Limits(note_bytes=5)).rejections[0].reason
    )


def write_repeated_text(folder: Path, encoded: str) -> Path:
    """Write a case of 40 MB of text as a Parquet file of less than 150 KB."""
    case_folder = write_case(folder)
    (case_folder / "rows.csv").unlink()
    rows = 20_000
    columns = {"t": ["2150-01-01"] * rows, "event": ["a"] * rows, "value": ["x" * 2_000] * rows}
    path = case_folder / "rows.parquet"
    kind = encoded == "dictionary"
    pq.write_table(
        pa.table(columns), path, use_dictionary=kind, compression="zstd", row_group_size=2_000
    )
    assert path.stat().st_size < 150_000
    return case_folder


@pytest.mark.parametrize("encoded", ["dictionary", "compressed"])
@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (Limits(case_bytes=30_000_000, expansion=10**6), "IMPORT_CASE_BYTES"),
        (Limits(), "IMPORT_EXPANSION"),
    ],
)
def test_a_small_parquet_file_of_much_text_is_refused(tmp_path, encoded, limits, word):
    case = read_case(write_repeated_text(tmp_path, encoded), limits=limits)
    assert case.encounter is None
    assert [(r.file, word in r.reason) for r in case.rejections] == [("c1/rows.parquet", True)]


@pytest.mark.parametrize("encoded", ["dictionary", "compressed"])
def test_a_parquet_file_is_refused_by_what_was_read_not_by_what_it_states(
    tmp_path, encoded, monkeypatch
):
    monkeypatch.setattr("ehr.formats.parquet._stated_bytes", lambda *_: 0)
    monkeypatch.setattr("ehr.formats.row_files.PARQUET_ROWS", 1_000)
    path = write_repeated_text(tmp_path, encoded) / "rows.parquet"
    sizes: list[int] = []
    blocks = read_rows(path, "rows.parquet", Limits(case_bytes=5_000_000))
    with pytest.raises(WrongFile, match="IMPORT_CASE_BYTES"):
        sizes.extend(block.offered for block in blocks)
    assert 1_000 <= sum(sizes) <= 2_500


def test_a_batch_of_long_texts_comes_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("ehr.formats.parquet.BATCH_BYTES", 1_000_000)
    path = write_repeated_text(tmp_path, "dictionary") / "rows.parquet"
    blocks = list(read_rows(path, "rows.parquet", Limits(expansion=10**6)))
    assert max(len(block.rows) for block in blocks) < 600
    assert [i for b in blocks for i in b.rows["row_index"].to_pylist()] == list(range(20_000))


def test_a_shard_that_becomes_too_large_is_refused(tmp_path):
    rows = 20_000
    columns = {
        "subject_id": pa.array([1] * rows, pa.int64()),
        "time": pa.array([datetime(2150, 1, 1)] * rows, pa.timestamp("us")),
        "code": ["LAB//1"] * rows,
        "text_value": ["x" * 2_000] * rows,
    }
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    assert Meds(tmp_path, None, Limits(expansion=10**6)).encounters().refused == ()
    (refused,) = Meds(tmp_path).encounters().refused
    assert "IMPORT_EXPANSION" in refused.reason


def test_a_note_of_byte_order_marks_and_white_space_is_empty(tmp_path):
    folder = write_case(tmp_path / "cases")
    (folder / "note.txt").write_text("\ufeff \n\ufeff\n", encoding="utf-8")
    assert [r.reason for r in read_case(folder).rejections] == ["the note is empty"]
    (folder / "note.txt").write_text("\ufeff Fell.\n", encoding="utf-8")
    assert read_case(folder).rejections == ()


def test_a_byte_order_mark_before_the_first_row_is_no_missing_time(tmp_path):
    folder = write_case(tmp_path / "cases", rows="t,event,value\n\ufeff,lab:a:,1\n,lab:b:,2\n")
    found = read_case(folder)
    assert [(r.line, r.field) for r in found.rejections] == [(2, "t")]
    assert found.rows is not None
    assert found.rows.column("event").to_pylist() == ["lab:b:"]


def case(folder: Path, rows: str = ROWS, **changes: Any) -> CaseRecord:
    return read_case(write_case(folder, "c", rows=rows, **changes))


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("0000-01-01T08:00:00,lab:x:,1,,,", "t"),
        ("10000-01-01T08:00:00,lab:x:,1,,,", "t"),
        (f"2150-01-01T08:00:00,{'x' * 2001},1,,,", "event"),
        ("2150-01-01T08:00:00,lab:x:,a\x00b,,,", "value"),
        ("2150-01-01T08:00:00,lab:x:,1,\x00,,", "unit"),
        ("2150-01-01T08:00:00,lab:x:,1,,", ""),
    ],
)
def test_a_row_that_cannot_be_stored_is_rejected_with_its_line(tmp_path, row, field):
    found = case(tmp_path, ROWS.replace("2.0,", '"2.0\n",') + row + "\n")
    assert found.rows is not None
    assert (len(found.rows), found.offered) == (4, 5)
    assert [(r.line, r.field) for r in found.rejections] == [(7, field)]


def test_numbers_of_any_length_are_values(tmp_path):
    values = ["1" + "0" * 400, "5" * 5000, "1e999", "-1e-999", "NaN", "Infinity"]
    found = case(tmp_path, "t,event,value\n" + "".join(f"2150-01-01,lab:x:,{v}\n" for v in values))
    assert found.rows is not None
    assert found.rows["value"].to_pylist() == values
    assert found.rejections == ()


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ('{"case_id": ' + "9" * 5000 + "}", "", "too many digits"),
        ('{"case_id": NaN}', "", "NaN"),
        ("[" * 100_000, "", "not JSON"),
        (
            json.dumps({"case_id": "c", "admitted_at": "2150-01-01", "title": "\ud800"}),
            "title",
            "cannot be shown",
        ),
        (json.dumps({"case_id": 10**400, "admitted_at": "2150-01-01"}), "case_id", "longer"),
        (
            json.dumps({"case_id": "c", "admitted_at": "0000-01-01"}),
            "admitted_at",
            "not a date",
        ),
        (
            json.dumps({"case_id": "c", "admitted_at": "2150-01-01", "discharged_at": 0}),
            "discharged_at",
            "not a date",
        ),
        ('{"case_id": "c", "admitted_at": "2150-01-01", "admitted_at": "2151-01-01"}', "", "twice"),
    ],
    ids=range(8),
)
def test_an_encounter_that_cannot_be_read_refuses_its_case(tmp_path, text, field, reason):
    folder = write_case(tmp_path, "c")
    (folder / "encounter.json").write_text(text)
    found = read_case(folder)
    assert found.encounter is None
    (fault,) = found.rejections
    assert (fault.file, fault.field) == ("c/encounter.json", field)
    assert reason in fault.reason


def test_names_that_nobody_knows_are_named(tmp_path):
    found = case(tmp_path, ROWS.replace("unit", "unitt", 1), discharged="2150-01-09T00:00:00")
    assert found.encounter is not None
    assert [(r.file, r.line) for r in found.rejections] == [
        ("c/encounter.json", None),
        ("c/rows.csv", 1),
    ]


@pytest.mark.parametrize(
    "kind", ["cut", "empty", "rows of binary text", "two columns of one name", "list"]
)
def test_a_parquet_file_that_cannot_be_read_refuses_its_case(tmp_path, kind):
    folder = write_case(tmp_path, "c")
    (folder / "rows.csv").unlink()
    columns = {"t": pa.array(["2150-01-01"]), "event": pa.array(["a"]), "value": pa.array(["1"])}
    if kind == "rows of binary text":
        columns["event"] = pa.array([b"\xff\xfe"]).view(pa.string())
    if kind == "list":
        columns["value"] = pa.array([["1"]])
    table = pa.table(list(columns.values()), list(columns))
    if kind == "two columns of one name":
        table = table.append_column("value", columns["value"])
    path = folder / "rows.parquet"
    pq.write_table(table, path)
    content = path.read_bytes()
    path.write_bytes({"cut": content[:-9], "empty": b""}.get(kind, content))
    found = read_case(folder)
    assert found.encounter is None
    assert [r.file for r in found.rejections] == ["c/rows.parquet"]


def test_an_unknown_column_of_a_parquet_file_is_named_by_its_place(tmp_path):
    names = ("t", "odd", "event", "value", "odder")
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({name: ["2150-01-01"] for name in names}), path)
    first, second = read_rows(path, "rows.parquet")
    reason = "unknown columns in the header, not read: 2; the first is column 2"
    assert [(r.file, r.line, r.reason) for r in first.rejections] == [("rows.parquet", 1, reason)]
    assert (len(second.rows), second.rejections) == (1, ())


def test_a_parquet_file_with_a_changed_byte_is_refused_or_has_all_its_rows(tmp_path):
    columns = {
        "t": ["2150-01-01"] * 9,
        "event": [f"e{i}" for i in range(9)],
        "value": [str(i) for i in range(9)],
    }
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path, compression="none", write_statistics=False)
    content = path.read_bytes()
    refused = 0
    for place, change in zip(range(4, len(content)), cycle((1, 2, 18, 127)), strict=False):
        damaged = bytes([content[place] ^ change])
        path.write_bytes(content[:place] + damaged + content[place + 1 :])
        try:
            offered = sum(block.offered for block in read_rows(path, "rows.parquet"))
        except WrongFile:
            refused += 1
        else:
            assert offered == 9, (place, change)
    assert refused > len(content) / 4


def mimic(folder: Path, name: str, old: str, new: str) -> MimicIV:
    """The excerpt with one change in one file."""
    root = Path(shutil.copytree(MIMIC, folder / "m"))
    text = (root / name).read_text()
    assert old in text
    (root / name).write_text(text.replace(old, new, 1))
    return MimicIV(root)


def find_rejections(source: MimicIV, name: str) -> list[tuple[int | None, str]]:
    """Return (line, field) of a file's rejections.

    A refusal of the whole file is included.
    """
    (file,) = (file for file in source.files() if file.name == name)
    try:
        blocks = list(file.blocks())
    except WrongFile as error:
        return [(error.rejection.line, error.rejection.field)]
    return [(r.line, r.field) for block in blocks for r in block.rejections]


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("icu/chartevents", "20338077,1,2,", "20338077,1,", [(2, "")]),
        ("icu/chartevents", "20338077", "2033x077", [(2, "hadm_id")]),
        ("icu/chartevents", "10007928,2033", "10012853,2033", [(2, "subject_id")]),
        ("icu/chartevents", "10007928,20338077", "x,20338077", [(2, "subject_id")]),
        ("icu/chartevents", "2129-04-06 00:35:00", "soon", [(2, "storetime")]),
        ("icu/chartevents", "bpm", "b\x00m", [(2, "")]),
        (
            "hosp/labevents",
            "20338077,100,50813,,2129-04-06 01:05:00",
            ",100,50813,,soon",
            [(2, "charttime"), (8, "charttime")],
        ),
        (
            "hosp/labevents",
            "20338077,100,50813,,2129-04-06 01:05:00",
            ",100,50813,,",
            [(8, "charttime"), (2, "charttime")],
        ),
        ("hosp/omr", "10012853,2175-04-05", "10012853,", [(2, "chartdate")]),
        ("hosp/diagnoses_icd", "10007928,20338077,10", "10007928,,10", [(2, "hadm_id")]),
        ("note/discharge", "20338077,DS,1", ",DS,1", [(2, "hadm_id")]),
        ("note/discharge", "2129-04-11 00:00:00", "soon", [(2, "charttime")]),
        ("note/discharge", "20338077,DS,1", "20338077,1", [(2, "")]),
        ("note/discharge", '""night"" team', "\x00", [(2, "text")]),
        ("note/discharge", 'home.\n"\n', "home.\n", [(2, "")]),
    ],
)
def test_lines_of_mimic_that_cannot_be_read_are_named(tmp_path, name, old, new, expected):
    assert find_rejections(mimic(tmp_path, f"{name}.csv", old, new), name) == expected


@pytest.mark.parametrize("name", ["hosp/prescriptions", "hosp/pharmacy"])
def test_an_order_without_times_is_a_row_without_a_time_or_named(tmp_path, name):
    root = Path(shutil.copytree(MIMIC, tmp_path / "m"))
    header = "subject_id,hadm_id,starttime,stoptime,drug,dose_val_rx,dose_unit_rx,route"
    header += ",medication,frequency"
    (root / f"{name}.csv.gz").unlink(missing_ok=True)
    (root / f"{name}.csv").write_text(
        f"{header}\n"
        "10007928,20338077,,,heparin,5,mg,IV,heparin,daily\n"
        "10007928,,,,heparin,5,mg,IV,heparin,daily\n"
        "10007928,20338077,,2129-04-07 08:00:00,heparin,5,mg,IV,heparin,daily\n"
    )
    (file,) = (file for file in MimicIV(root).files() if file.name == name)
    (block,) = (block for block in file.blocks() if isinstance(block, StreamBlock))
    rows = zip(block.lines, block.rows["event"].to_pylist(), block.rows["time"], strict=True)
    assert [(int(line), event, time.is_valid) for line, event, time in rows] == [
        (2, "order:heparin:start", False),
        (4, "order:heparin:stop", True),
    ]
    assert [(r.line, r.field) for r in block.rejections] == [(3, "starttime")]


def test_a_dictionary_with_a_faulty_line_refuses_the_tables_that_need_it(tmp_path):
    source = mimic(tmp_path, "icu/d_items.csv", "220045,Heart Rate,", "220045,")
    assert find_rejections(source, "icu/chartevents") == [(5, "")]
    assert find_rejections(source, "hosp/omr") == []


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("10007928,20338077,2129-04-05 22:56:00,", "10007928,20338077,", ""),
        ("2129-04-11 17:25:00", "soon", "dischtime"),
        ("2129-04-05 21:18:00", "31.12.2129", "edregtime"),
        ("2129-04-05 22:56:00", "", "admittime"),
        ("EW EMER.", "x" * 600, "admission_type"),
    ],
)
def test_an_admission_with_a_fault_is_named_and_the_other_is_taken(tmp_path, old, new, field):
    found = mimic(tmp_path, "hosp/admissions.csv", old, new).encounters()
    assert [e.case_id for e in found.encounters] == ["27882036"]
    assert [(r.line, r.field) for r in found.rejections] == [(2, field)]


def test_a_table_that_is_there_twice_is_refused(tmp_path):
    source = mimic(tmp_path, "hosp/omr.csv", "Height", "Height")
    (tmp_path / "m/hosp/omr.csv.gz").write_bytes(
        gzip.compress((tmp_path / "m/hosp/omr.csv").read_bytes())
    )
    assert find_rejections(source, "hosp/omr") == [(None, "")]
