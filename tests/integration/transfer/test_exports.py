"""Exports of finished timelines in every format, streamed.

Notes are checked, and spreadsheets cannot calculate.
"""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from prov.model import ProvDerivation, ProvDocument, ProvElement

from accounts.models import AuditEvent
from tests import factories
from tests.worlds.exported import NOTE, World, make_exported_world
from timelines.domain import TimelineKind
from timelines.formats import dictionary
from timelines.models import Entry, Run, Stage, StageRun

pytestmark = pytest.mark.django_db

KEYS = [
    *(
        "case_id",
        "source",
        "kind",
        "alternative",
        "uid4",
        "mention",
        "start",
        "end",
        "time",
        "lower",
        "upper",
        "known",
        "context",
    ),
    *("evidence", "polarity", "lane", "rows", "reason", "decided_by", "confidence", "near_rows"),
]


@pytest.fixture
def world() -> World:
    """One finished case run (text-only and revised) and a sealed reference."""
    return make_exported_world()


def export(format: str, out: Path, **options: object) -> str:
    """Run the command; returns what it said."""
    said = StringIO()
    call_command(
        "export_timelines", dataset="cohort", format=format, out=out, stdout=said, **options
    )
    return said.getvalue()


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_jsonl_has_exactly_the_documented_keys_and_cites_adopted_rows(world, tmp_path):
    assert (
        export("jsonl", tmp_path / "t.jsonl")
        == f"7 occurrences of timelines written to {tmp_path / 't.jsonl'}\n"
    )
    lines = read_lines(tmp_path / "t.jsonl")
    assert [list(line) for line in lines] == [KEYS] * 7
    assert [(x["source"], x["kind"], x["uid4"]) for x in lines] == [
        ("reference", "reference", "ffff"),
        *(("rules", "text_only", uid) for uid in ("0a1b", "0a1c", "0a1d")),
        *(("rules", "revised", uid) for uid in ("0a1b", "0a1c", "0a1d")),
    ]
    fever = lines[1]
    assert (fever["time"], fever["lower"], fever["upper"], fever["known"], fever["context"]) == (
        -72.0,
        -96.0,
        -48.0,
        1,
        ["0a1d"],
    )
    assert (lines[2]["time"], lines[2]["upper"], lines[2]["known"]) == (None, 0.0, 0)
    assert all(line["evidence"] == [] for line in lines[1:4])
    assert lines[6]["evidence"] == [
        {
            "row_index": 0,
            "event": "med:ceftriaxone:start",
            "value": "2",
            "unit": "g",
            "hours": 4.25,
            "time_kind": "administration",
            "query": "ceftriaxone start",
            "dense_rank": 1,
            "dense_score": 0.75,
            "rerank_score": 0.75,
            "link": "",
        }
    ]


def test_a_reference_cites_rows_of_the_record_but_none_later_than_discharge_allows(world, tmp_path):
    export("jsonl", tmp_path / "t.jsonl", source=["reference"])
    (line,) = read_lines(tmp_path / "t.jsonl")
    assert [
        (e["row_index"], e["hours"], e["query"], e["dense_rank"]) for e in line["evidence"]
    ] == [(0, 4.25, None, None)]


def test_spans_lead_to_the_notes_own_text(world, tmp_path):
    export("jsonl", tmp_path / "t.jsonl", with_note_text=True, source=["rules"])
    lines = read_lines(tmp_path / "t.jsonl")
    assert [line["span_text"] for line in lines[:3]] == [
        "=Fever 😀",
        "chest\r\npain",
        "Ceftriaxone",
    ]
    assert all(NOTE[line["start"] : line["end"]] == line["span_text"] for line in lines)


def test_csv_keeps_spreadsheets_from_calculating_and_numbers_numbers(world, tmp_path):
    export("csv", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    fever = next(row for row in rows if row["uid4"] == "0a1b" and row["kind"] == "text_only")
    assert fever["mention"] == "'=Fever"
    assert (fever["time"], fever["lower"], fever["context"], fever["evidence"]) == (
        "-72.0",
        "-96.0",
        "0a1d",
        "",
    )
    assert json.loads(rows[-1]["evidence"])[0]["row_index"] == 0
    schema = json.loads((tmp_path / "t.csv.schema.json").read_text(encoding="utf-8"))
    assert [field["name"] for field in schema["fields"]] == KEYS
    assert list(rows[0]) == KEYS


def test_parquet_holds_the_same_with_types(world, tmp_path):
    export("parquet", tmp_path / "t.parquet", with_note_text=True)
    export("jsonl", tmp_path / "t.jsonl", with_note_text=True)
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.to_pylist() == read_lines(tmp_path / "t.jsonl")
    assert {f.name: str(f.type) for f in table.schema if f.name in ("time", "start", "known")} == {
        "time": "double",
        "start": "int32",
        "known": "int8",
    }
    assert (tmp_path / "t.parquet.schema.json").exists()


def test_meds_is_sorted_by_subject_and_time_with_naive_microseconds(world, tmp_path):
    other = factories.make_encounter(world.dataset, case_id="1999", stay_hours=None)
    inventory = factories.make_inventory(factories.make_note(other, "Rash."))
    rash = factories.make_occurrence(inventory, "Rash", uid4="0001")
    factories.make_timeline(inventory, {rash: -1e9}, kind=TimelineKind.REFERENCE)
    factories.seal(inventory)
    export("meds", tmp_path / "meds")
    table = pq.read_table(tmp_path / "meds" / "data" / "0.parquet")
    assert {
        name: str(table.schema.field(name).type)
        for name in ("subject_id", "time", "code", "numeric_value", "text_value")
    } == {
        "subject_id": "int64",
        "time": "timestamp[us]",
        "code": "string",
        "numeric_value": "float",
        "text_value": "large_string",
    }
    rows = table.to_pylist()
    assert [row["subject_id"] for row in rows] == [1999] + [20001] * 7
    assert rows[0]["time"] is None, "a year outside the calendar has no clock time; its hours stay"
    assert rows[0]["hours"] == -1e9
    times = [row["time"] for row in rows[1:]]
    assert times[:2] == [None, None]
    assert times[2:] == sorted(times[2:])
    assert times[2] == factories.ADMITTED - timedelta(hours=72)
    assert {row["code"] for row in rows} == {
        "OCCURRENCE//FINDING//PRESENT",
        "OCCURRENCE//FINDING//ABSENT",
        "OCCURRENCE//MEDICATION//PRESENT",
    }
    codes = (
        pq.read_table(tmp_path / "meds" / "metadata" / "codes.parquet").column("code").to_pylist()
    )
    assert {row["code"] for row in rows} <= set(codes)
    splits = pq.read_table(tmp_path / "meds" / "metadata" / "subject_splits.parquet")
    assert splits.column("subject_id").to_pylist() == [1999, 20001]
    metadata = json.loads((tmp_path / "meds" / "metadata" / "dataset.json").read_text())
    assert metadata["dataset_name"] == "cohort"
    assert datetime.fromisoformat(metadata["created_at"]).tzinfo is not None


def test_brat_offsets_point_into_the_note_beside_them(world, tmp_path):
    export("brat", tmp_path / "brat", source=["rules"])
    folder = tmp_path / "brat" / "rules-text_only-1"
    note = (folder / "20001.txt").read_bytes().decode("utf-8")
    assert note == NOTE.replace("\r\n", "\n")
    annotations = (folder / "20001.ann").read_text(encoding="utf-8").splitlines()
    assert annotations[0] == "T1\tFinding 0 8\t=Fever 😀"
    head, target, note_words = annotations[1].split("\t")
    assert (head, target) == ("#1", "AnnotatorNotes T1")
    values = json.loads(note_words)
    assert (values["uid4"], values["time"], values["lower"], values["upper"], values["known"]) == (
        "0a1b",
        -72.0,
        -96.0,
        -48.0,
        1,
    )
    assert (values["case_id"], values["source"], values["mention"], values["context"]) == (
        "20001",
        "rules",
        "=Fever",
        ["0a1d"],
    )
    assert annotations[2:4] == ["T2\tFinding 26 31;32 36\tchest pain", "A2\tAbsent T2"]
    for line in annotations:
        if line.startswith("T"):
            _, where, text = line.split("\t")
            spans = [tuple(map(int, part.split())) for part in where.split(" ", 1)[1].split(";")]
            assert " ".join(note[start:end] for start, end in spans) == text


def read_trails(path: Path) -> list[ProvDocument]:
    """Return the documents of an export, as the library prov reads them."""
    return [
        ProvDocument.deserialize(content=line, format="json")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def find_values(trail: ProvDocument, name: str) -> dict[str, object]:
    """Return the attributes of the one record whose name ends so."""
    (record,) = {
        r.identifier.uri: r
        for r in trail.get_records(ProvElement)
        if r.identifier.localpart == name
    }.values()
    return {key.localpart: value for key, value in record.extra_attributes}


def find_sources(trail: ProvDocument) -> dict[tuple[str, str], object]:
    """Return (derived, source) → link of every derivation."""
    found = {}
    for one in trail.get_records(ProvDerivation):
        derived, source = (name.localpart for _, name in one.formal_attributes[:2])
        links = [value for key, value in one.extra_attributes if key.localpart == "link"]
        found[derived, source] = links[0] if links else None
    return found


def test_the_audit_trail_leads_from_the_note_to_the_row_and_the_revised_time(world, tmp_path):
    export("prov", tmp_path / "t.prov.jsonl")
    trails = read_trails(tmp_path / "t.prov.jsonl")
    for trail, uid in zip(trails, ("0a1b", "0a1c", "0a1d"), strict=True):
        assert find_values(trail, f"{uid}/occurrence")["uid4"] == uid
    drug = trails[2]
    assert {
        ("0a1d/span", "note"),
        ("0a1d/occurrence", "0a1d/span"),
        ("0a1d/z0", "0a1d/occurrence"),
        ("0a1d/query/0", "0a1d/occurrence"),
        ("0a1d/candidate/0/1", "0a1d/query/0"),
        ("row/0", "0a1d/candidate/0/1"),
        ("0a1d/z1", "row/0"),
    } <= set(find_sources(drug))
    assert find_values(drug, "0a1d/z0")["time"] == 1.0
    assert find_values(drug, "0a1d/z1")["time"] == 4.25
    assert "text" not in find_values(drug, "0a1d/span")


def make_citing_run(world: World) -> Run:
    """A run whose model cites rows of its own, of another and of the stay."""
    encounter = world.case_run.encounter
    run = factories.make_run(world.dataset)
    inventory = factories.make_inventory(encounter.notes.get(), run)
    fever = factories.make_occurrence(inventory, "Fever", uid4="aaaa")
    pain = factories.make_occurrence(inventory, "chest", uid4="bbbb")
    drug = factories.make_occurrence(inventory, "Ceftriaxone", uid4="cccc")
    factories.seal(inventory)
    case_run = factories.make_case_run(run, encounter, inventory)
    for stage in Stage:
        StageRun.objects.create(case_run=case_run, stage=stage, state="succeeded")
    query = factories.make_query(case_run, drug, "ceftriaxone start")
    series = encounter.series.get(event="med:ceftriaxone:start")
    dose = encounter.rows.get(event="med:ceftriaxone:start")
    factories.make_evidence(factories.make_candidate(query, series, rerank=0.75), dose)
    arrival = factories.make_row(encounter, "transfer:ed:", 0.5, value="ED")
    factories.make_stay_row(case_run, arrival)
    text = [Entry(occurrence=o, time=1.0) for o in (fever, pain, drug)]
    factories.make_timeline(inventory, text, case_run=case_run)
    own, stay = dose.row_index, arrival.row_index
    cites = [
        Entry(occurrence=fever, time=4.25, adopted_rows=[own], near_rows=[stay], link="cited"),
        Entry(occurrence=pain, time=0.5, adopted_rows=[stay], link="cited"),
        Entry(occurrence=drug, time=4.25, adopted_rows=[own], link="cited"),
    ]
    factories.make_timeline(inventory, cites, kind=TimelineKind.REVISED, case_run=case_run)
    return run


def test_each_row_says_how_the_time_is_linked_to_it(world, tmp_path):
    run = make_citing_run(world)
    export("jsonl", tmp_path / "t.jsonl", run=run.public_id)
    fever, pain, drug = read_lines(tmp_path / "t.jsonl")[3:]
    stay = fever["near_rows"][0]
    linked = [
        [(e["row_index"], e["link"], e["query"]) for e in line["evidence"]]
        for line in (fever, pain, drug)
    ]
    assert linked == [
        [(0, "cited_elsewhere", "ceftriaxone start")],
        [(stay, "cited_elsewhere", None)],
        [(0, "cited", "ceftriaxone start")],
    ]
    assert (pain["near_rows"], drug["near_rows"]) == ([], [])
    export("parquet", tmp_path / "t.parquet", run=run.public_id)
    assert pq.read_table(tmp_path / "t.parquet").to_pylist() == read_lines(tmp_path / "t.jsonl")
    export("csv", tmp_path / "t.csv", run=run.public_id)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert [row["near_rows"] for row in csv.DictReader(file)][3:] == [f"{stay}", "", ""]


def test_the_audit_trail_has_rows_that_were_found_for_another_occurrence(world, tmp_path):
    run = make_citing_run(world)
    export("prov", tmp_path / "t.prov.jsonl", run=run.public_id)
    fever, pain, drug = map(find_sources, read_trails(tmp_path / "t.prov.jsonl"))
    (stay,) = (source for name, source in pain if name == "bbbb/z1" and source[:4] == "row/")
    assert fever["aaaa/z1", "row/0"] == "cited_elsewhere"
    assert fever["aaaa/z1", stay] == "near", "it cites one and leans on another"
    assert pain["bbbb/z1", stay] == "cited_elsewhere"
    assert drug["cccc/z1", "row/0"] == "cited"
    assert not [name for name, _ in fever if name == "row/0"], "no query of its own brought it"
    assert ("row/0", "cccc/candidate/0/1") in drug


def test_only_finished_timelines_leave_and_the_latest_of_a_source(world, tmp_path):
    encounter = world.case_run.encounter
    run = factories.make_run(world.dataset)
    inventory = factories.make_inventory(encounter.notes.get(), run)
    fever = factories.make_occurrence(inventory, "Fever", uid4="bbbb")
    factories.seal(inventory)
    later = factories.make_case_run(run, encounter, inventory)
    factories.make_timeline(inventory, {fever: -1.0}, case_run=later)
    stage = StageRun.objects.create(case_run=later, stage=Stage.PROVENANCE, state="queued")
    export("jsonl", tmp_path / "before.jsonl", source=["rules"])
    assert "bbbb" not in {line["uid4"] for line in read_lines(tmp_path / "before.jsonl")}
    StageRun.objects.filter(pk=stage.pk).update(state="succeeded")
    export("jsonl", tmp_path / "after.jsonl", source=["rules"])
    assert [line["uid4"] for line in read_lines(tmp_path / "after.jsonl")] == ["bbbb"]
    export("jsonl", tmp_path / "first.jsonl", run=world.case_run.run.public_id)
    assert len(read_lines(tmp_path / "first.jsonl")) == 6


def test_a_note_that_is_not_the_imported_one_stops_the_export_and_leaves_no_file(world, tmp_path):
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE ehr_note DISABLE TRIGGER timelines_note_kept")
        cursor.execute("UPDATE ehr_note SET text = text || ' '")
        cursor.execute("ALTER TABLE ehr_note ENABLE TRIGGER timelines_note_kept")
    with pytest.raises(CommandError, match="SHA-256 does not match"):
        export("jsonl", tmp_path / "t.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_export_is_on_the_audit_trail(world, tmp_path):
    export("jsonl", tmp_path / "t.jsonl")
    event = AuditEvent.objects.get(action="timelines.export")
    assert (event.study, event.object_id) == (world.dataset.study, world.dataset.public_id)
    assert event.detail == {"format": "jsonl", "lines": 7, "with_note_text": False}


def test_nothing_to_export_is_an_error_that_says_what_to_do(db, tmp_path):
    factories.make_dataset(name="cohort")
    with pytest.raises(CommandError, match="reconstruct"):
        export("jsonl", tmp_path / "t.jsonl")
    with pytest.raises(CommandError, match="there is: cohort"):
        call_command("export_timelines", dataset="other", format="jsonl", out=tmp_path / "t.jsonl")


def test_the_documentation_is_the_dictionary():
    assert dictionary.PAGE.read_text(encoding="utf-8") == dictionary.render()
