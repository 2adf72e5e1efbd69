"""Recognise formats by names and first bytes: a table of folders."""

from __future__ import annotations

import gzip
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ehr.formats.expected import EXPECTED
from ehr.formats.recognition import NOT_RECOGNISED, find_root, recognise
from ehr.ingest.sources import FORMATS
from tests.paths import DATA, DEMO

PATIENT = json.dumps({"resourceType": "Patient", "id": "1"})
ROWS = "t,event,value\n2150-01-01T08:00,lab:a:b,1\n"
OTHER = "charttime,label,result\n2150-01-01T08:00,lab:a:b,1\n"


@pytest.mark.parametrize(
    ("folder", "format"),
    [
        (DEMO / "cohort", "cases"),
        (DEMO / "intro", "cases"),
        (DATA / "ehr" / "mimic_iv", "mimic_iv"),
        (DATA / "ehr" / "omop", "omop"),
        (DATA / "ehr" / "meds", "meds"),
        (DATA / "ehr" / "fhir" / "synthea", "fhir"),
    ],
)
def test_real_exports(folder, format):
    assert (recognise(folder).format, recognise(folder).root) == (format, folder)


def test_without_a_format_the_files_are_named(tmp_path):
    for name in ("e.jpg", "d.jpg", "c.jpg", "b" * 50, ".hidden"):
        (tmp_path / name).write_text("x")
    (tmp_path / "a").mkdir()
    found = recognise(tmp_path).reason
    assert found == f"{NOT_RECOGNISED} Found: a/, {'b' * 39}…, c.jpg, d.jpg and 1 other."
    assert recognise(tmp_path / "a").reason == f"{NOT_RECOGNISED} There is no file."
    assert set(EXPECTED) == set(FORMATS)


@pytest.mark.parametrize(
    ("files", "format"),
    [
        ({"a.ndjson": PATIENT}, "fhir"),
        ({"a.json": PATIENT}, "fhir"),
        ({"a.json": '{"name": "no resource"}'}, ""),
        ({"one.csv": ROWS}, "csv"),
        ({"one.csv": ROWS, "one.txt": "Note."}, "csv"),
        ({"encounters.csv": "case_id,admitted_at\n", "a.txt": "Note."}, "csv"),
        ({"one.csv": OTHER}, "csv"),
        ({"one.csv": OTHER, "one.txt": "Note."}, "csv"),
        ({"a.txt": "Note."}, "text"),
        ({"A.TXT": "Note."}, "text"),
        ({"a.txt": "Note.", "index.csv": "file,case_id\na.txt,1\n"}, "text"),
        ({"README.txt": "Nothing."}, ""),
        ({"VISIT_OCCURRENCE.csv": "x\n"}, "omop"),
        ({"hosp/admissions.csv": "x\n"}, "mimic_iv"),
        ({"c1/encounter.json": "{}"}, "cases"),
        ({"data/train/0.parquet": "no Parquet"}, ""),
        ({"photo.jpg": "x"}, ""),
        ({}, ""),
    ],
)
def test_small_folders(tmp_path, files, format):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = recognise(tmp_path)
    assert found.format == format
    assert found.reason.endswith(".")


def test_gzipped_resources_and_damaged_ones(tmp_path):
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(PATIENT.encode()))
    assert recognise(tmp_path).format == "fhir"
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(PATIENT.encode())[:12])
    assert recognise(tmp_path).format == ""


def test_meds_by_its_columns(tmp_path):
    shard = tmp_path / "data" / "train" / "0.parquet"
    shard.parent.mkdir(parents=True)
    pq.write_table(pa.table({"subject_id": [1], "time": [None], "code": ["A"]}), shard)
    assert recognise(tmp_path).format == "meds"


def test_the_only_folder_of_a_folder_is_looked_into(tmp_path):
    inner = tmp_path / "export" / "2150"
    shutil.copytree(DATA / "ehr" / "omop", inner)
    (tmp_path / "__MACOSX").mkdir()
    found = recognise(tmp_path)
    assert (found.format, found.root) == ("omop", inner)
    # A person who chooses another format means the same folder.
    assert find_root(tmp_path, "csv") == inner


@pytest.mark.parametrize("format", ["meds", "fhir"])
def test_an_export_is_the_same_in_a_folder_and_without(tmp_path, format):
    inner = tmp_path / "export"
    shutil.copytree(DATA / "ehr" / {"meds": "meds", "fhir": "fhir/synthea"}[format], inner)
    assert (recognise(tmp_path).format, recognise(tmp_path).root) == (format, inner)
    assert recognise(inner).root == inner


def test_shards_of_meds_are_in_data(tmp_path):
    shutil.copytree(DATA / "ehr" / "meds", tmp_path / "export" / "data")
    assert recognise(tmp_path).root == tmp_path / "export"


def test_one_case_alone_is_its_folder(tmp_path):
    shutil.copytree(DEMO / "intro" / "intro-ich", tmp_path / "intro-ich")
    found = recognise(tmp_path)
    assert (found.format, found.root) == ("cases", tmp_path)


@pytest.mark.parametrize(
    ("names", "format", "root"),
    [
        (["4711/progress.txt"], "text", ""),
        (["4711/progress.txt", "4711/discharge_summary.txt", "4712/a.txt"], "text", ""),
        # The only folder is the export, if its files are not named by kinds.
        (["export/4711.txt"], "text", "export"),
        (["export/4711/progress.txt", "export/4712/progress.txt"], "text", "export"),
        (["4711/rows.bin"], "", None),
    ],
)
def test_a_folder_of_notes_for_each_stay(tmp_path, names, format, root):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Melena.")
    found = recognise(tmp_path)
    assert found.format == format
    assert root is None or found.root == tmp_path / root
