"""Timelines made elsewhere are stored whole and sealed as sources.

A second import changes nothing; every fault has its place.
"""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import AuditEvent, Role
from ehr.models import Dataset, Encounter
from tests import factories
from tests.paths import DEMO
from tests.worlds.reconstructed import import_folder
from timelines.domain import Lane, Polarity, TimelineKind
from timelines.models import Entry, Inventory, Occurrence, Timeline

pytestmark = pytest.mark.django_db

NOTE = 'Fever 😀 since Monday.\r\nNo chest\r\npain, later chest pain. Ceftriaxone 2|g "stat" given. שלום e\u0301.\x0c]]> end'
FORMATS = ("jsonl", "csv", "parquet", "meds", "bsv", "brat", "doccano", "label_studio", "i2b2")
FILES = {
    "jsonl": "t.jsonl",
    "csv": "t.csv",
    "parquet": "t.parquet",
    "doccano": "t.jsonl",
    "label_studio": "t.json",
}


@pytest.fixture
def dataset() -> Dataset:
    """Return two cases with the same note.

    The second has an id that cannot name a file.
    """
    dataset = factories.make_dataset(name="cohort")
    for case_id in ("20001", "ward 3/a"):
        encounter = factories.make_encounter(dataset, case_id=case_id)
        factories.make_note(encounter, NOTE)
        factories.make_row(encounter, "med:ceftriaxone:start", 4.25, value="2", unit="g")
        factories.make_row(encounter, "chart:late:", 500.0)
    return dataset


def make_theirs(encounter: Encounter, source: str = "theirs/a") -> None:
    """Store timelines with everything that a timeline can have.

    A text-only and a revised one are over one imported inventory.
    """
    inventory = factories.make_inventory(encounter.notes.get(), origin=Inventory.Origin.IMPORT)
    fever = factories.make_occurrence(inventory, "Fever 😀", mention="'=Fever 😀", uid4="00b1")
    pain = factories.make_occurrence(
        inventory, "chest\r\npain", mention="chest pain", uid4="0a1c", polarity=Polarity.ABSENT
    )
    drug = factories.make_occurrence(
        inventory,
        '2|g "stat"',
        mention='ceftriaxone 2\\|g \\"stat\\"',
        uid4="0a1d",
        lane=Lane.MEDICATION,
    )
    loose = factories.make_occurrence(
        inventory, mention="=discharge planned", uid4="0a1e", lane=Lane.PLAN
    )
    gap = factories.make_occurrence(
        inventory,
        span=(NOTE.index("\x0c"), NOTE.index("\x0c") + 1),
        mention="a page break",
        uid4="0a1f",
    )
    text = [
        Entry(
            occurrence=fever,
            time=-72.1,
            lower=-96.0,
            upper=-48.0,
            known=True,
            context=["0a1d", "0a1e"],
            reason='said "so" | -- ?>',
        ),
        *(Entry(occurrence=o) for o in (loose, gap)),
        Entry(occurrence=pain, time=None, upper=1 / 3, decided_by="reader/2"),
        Entry(occurrence=drug, time=1e-9, confidence=7.5),
    ]
    factories.make_timeline(inventory, text, source=source)
    revised = [Entry(occurrence=o, time=0.0) for o in (fever, loose, gap, pain)]
    revised.append(
        Entry(
            occurrence=drug,
            time=4.25,
            lower=4.25,
            upper=4.25,
            known=True,
            adopted_rows=[0, 1],
            confidence=-1.0,
        )
    )
    factories.make_timeline(
        inventory, revised, source=source, kind=TimelineKind.REVISED, alternative=2
    )
    factories.seal(inventory)


def export(format: str, out: Path, **options: object) -> Path:
    path = out / FILES[format] if format in FILES else out
    call_command(
        "export_timelines", dataset="cohort", format=format, out=path, stdout=StringIO(), **options
    )
    return path


def run(format: str, path: Path, source: str = "other", **options: object) -> str:
    """Import; returns what was said."""
    said = StringIO()
    call_command(
        "import_timelines",
        dataset="cohort",
        format=format,
        path=path,
        source=source,
        stdout=said,
        **options,
    )
    return said.getvalue()


def run_badly(format: str, path: Path, **options: object) -> list[str]:
    """An import with faults; returns the lines it printed."""
    said = StringIO()
    with pytest.raises(CommandError, match="Correct the faults above"):
        call_command(
            "import_timelines",
            dataset="cohort",
            format=format,
            path=path,
            source="other",
            stdout=said,
            **options,
        )
    return said.getvalue().splitlines()


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_exported_comes_back_whole(dataset, tmp_path, format):
    for encounter in Encounter.objects.all():
        make_theirs(encounter)
    before = export("jsonl", tmp_path / "before", source=["theirs/a"]).read_text(encoding="utf-8")
    said = run(format, export(format, tmp_path / "out"), only="theirs/a")
    assert (
        said
        == "4 timelines imported, 0 replaced, 0 unchanged in 2 cases; 10 occurrences stored, 8 of them with a place in the note; 0 faults\n"
    )
    after = export("jsonl", tmp_path / "after", source=["other"]).read_text(encoding="utf-8")
    assert after.replace('"source": "other"', '"source": "theirs/a"') == before
    assert "4 unchanged" in run(
        format, export(format, tmp_path / "again", source=["other"]), only="other"
    )
    assert {i.origin for i in Inventory.objects.all()} == {"import"}
    assert Inventory.objects.count() == 4, (
        "a source's timelines of one case share an inventory where they agree on it"
    )


def test_bars_without_a_heading_are_sealed_with_identifiers_and_spans_only_where_certain(
    dataset, tmp_path
):
    (tmp_path / "20001.bsv").write_text(
        "Fever 😀|-72|9\nchest pain|N/A|\nCeftriaxone|4.5\nnothing like this|0|1\n",
        encoding="utf-8",
    )
    assert "1 timelines imported" in run("bsv", tmp_path)
    inventory = Inventory.objects.get()
    assert (inventory.origin, inventory.run, inventory.sealed_at is not None) == (
        "import",
        None,
        True,
    )
    rows = Occurrence.objects.order_by("ordinal").values_list("mention", "start", "end")
    start = NOTE.index("Ceftriaxone")
    assert list(rows) == [
        ("Fever 😀", 0, 7),
        ("chest pain", None, None),
        ("Ceftriaxone", start, start + 11),
        ("nothing like this", None, None),
    ]
    entries = Entry.objects.order_by("occurrence__ordinal").values_list("time", "confidence")
    assert list(entries) == [(-72.0, 9.0), (None, None), (4.5, None), (0.0, 1.0)]
    assert len(set(Occurrence.objects.values_list("uid4", flat=True))) == 4
    event = AuditEvent.objects.get(action="timelines.import")
    assert event.detail == {
        "format": "bsv",
        "source": "other",
        "imported": 1,
        "replaced": 0,
        "unchanged": 0,
        "faults": 0,
    }


def test_twice_changes_nothing_changed_input_is_refused_and_replaced_when_asked(dataset, tmp_path):
    file = tmp_path / "20001.csv"
    file.write_text("event,time\nFever,-72\n")
    run("csv", file)
    first = Timeline.objects.get()
    assert "1 unchanged" in run("csv", file)
    assert Timeline.objects.get() == first
    file.write_text("event,time\nFever,-71\n")
    assert (
        "20001.csv: the source has another timeline of this case; add --replace, or choose another --source"
        in run_badly("csv", file)[1]
    )
    assert Entry.objects.get().time == -72.0
    assert "1 replaced" in run("csv", file, replace=True)
    assert Entry.objects.get().time == -71.0
    assert Inventory.objects.count() == 1
    assert Timeline.objects.get().public_id != first.public_id


def test_references_have_the_protocol_that_their_import_names(dataset, tmp_path):
    file = tmp_path / "20001.csv"
    file.write_text("event,time\nFever,-72\n")
    run("csv", file, source="guess", protocol="two readers")
    assert Timeline.objects.get(source="guess").protocol == ""
    run("csv", file, kind="reference", protocol="two readers")
    assert Timeline.objects.get(source="other").protocol == "two readers"
    assert "1 unchanged" in run("csv", file, kind="reference")
    assert "add --replace" in run_badly("csv", file, kind="reference", protocol="three")[1]
    run("csv", file, kind="reference", protocol="three", replace=True)
    file.write_text("event,time\nFever,-71\n")
    run("csv", file, kind="reference", replace=True)
    assert Timeline.objects.get(source="other").protocol == "three"
    with pytest.raises(CommandError, match="a protocol is named by"):
        run("csv", file, protocol="x" * 61)


def test_times_without_a_basis_are_shown_as_such_and_stay_so(dataset, tmp_path, client):
    (tmp_path / "20001.csv").write_text(
        "case_id,mention,time,known\n20001,Fever,-72,\n20001,Ceftriaxone,1,1\n20001,chest pain,2,0\n20001,end,,\n"
    )
    run("csv", tmp_path)
    client.force_login(factories.make_user(dataset.study, Role.CLINICIAN))
    page = client.get(
        reverse("timelines:case", args=[Encounter.objects.get(case_id="20001").public_id])
    ).content.decode()
    data = json.loads(
        page.split('<script id="case-data" type="application/json">')[1].split("</script>")[0]
    )
    statuses = {item["m"]: item["s"] for item in data["items"]}
    assert statuses == {
        "Fever": "unspecified",
        "Ceftriaxone": "explicit",
        "chest pain": "inferred",
        "end": "unplaced",
    }
    exported = export("jsonl", tmp_path / "out", source=["other"]).read_text(encoding="utf-8")
    assert [json.loads(line)["known"] for line in exported.splitlines()] == [None, 1, 0, None]


def test_a_revised_timeline_joins_the_text_only_one_of_its_source(dataset, tmp_path):
    file = tmp_path / "20001.csv"
    file.write_text("event,time\nFever,-72\nCeftriaxone,1\n")
    run("csv", file)
    file.write_text("event,time\nFever,-72\nCeftriaxone,4.25\n")
    run("csv", file, kind="revised")
    assert Inventory.objects.count() == 1
    assert set(Timeline.objects.values_list("kind", "alternative")) == {
        ("text_only", 1),
        ("revised", 1),
    }


def test_faults_name_file_line_and_field_and_the_good_cases_are_taken(dataset, tmp_path):
    (tmp_path / "20001.csv").write_text("event,time\nFever,-72\n")
    (tmp_path / "unknown.csv").write_text("event,time\nFever,-72\n")
    lines = run_badly("csv", tmp_path)
    assert lines[0].startswith("1 timelines imported")
    assert lines[1].startswith("  unknown.csv, case_id: the dataset has no case of that name")
    table = tmp_path / "all.bsv"
    table.write_text(
        "case_id|event|time\n20001|Secret|soon\nward 3/a|Fever|1\n20001|Fever|nan\n|Rash|1\n"
    )
    lines = run_badly("bsv", table)
    assert [line.strip() for line in lines[1:]] == [
        "all.bsv, line 5, case_id: no case is named",
        "all.bsv, line 2, time: neither a number nor N/A",
        "all.bsv, line 4, time: not a finite number",
        "all.bsv, line 5: beside an unreadable line, so this timeline may lack an occurrence and is left out",
    ]
    assert "Secret" not in "".join(lines)
    assert Timeline.objects.filter(encounter__case_id="ward 3/a").count() == 1


def test_rows_must_be_of_the_record(dataset, tmp_path):
    line = {"case_id": "20001", "mention": "Fever", "time": 1.0, "rows": [0, 7]}
    (tmp_path / "t.jsonl").write_text(json.dumps(line) + "\n")
    assert run_badly("jsonl", tmp_path / "t.jsonl")[1] == "  t.jsonl, rows: the record has no row 7"
    assert not Timeline.objects.exists()


def test_another_note_is_refused_by_its_first_difference_and_none_of_its_text(dataset, tmp_path):
    document = {"text": NOTE.replace("Monday", "Friday"), "entities": [], "case_id": "20001"}
    (tmp_path / "t.jsonl").write_text(json.dumps(document) + "\n")
    (line,) = run_badly("doccano", tmp_path / "t.jsonl")[1:]
    assert (
        "t.jsonl, line 1, text: the text is not this case's note: first difference at offset 14 (ours: 14)"
        in line
    )
    assert "Friday" not in line


@pytest.mark.parametrize(
    "source", ["rules", "rules/x", "reference", "author:ada", "", "/x", "a" * 101, "a\nb"]
)
def test_names_of_runs_references_and_authors_stay_theirs(dataset, tmp_path, source):
    (tmp_path / "20001.csv").write_text("event,time\nFever,-72\n")
    with pytest.raises(CommandError, match=r"choose another|a source is named by"):
        run("csv", tmp_path, source=source)
    assert not Timeline.objects.exists()


def test_a_source_that_was_not_imported_is_never_replaced(dataset, tmp_path):
    encounter = Encounter.objects.get(case_id="20001")
    factories.make_bare_timeline(encounter, {"fever": 1.0}, source="other")
    (tmp_path / "20001.csv").write_text("event,time\nFever,-72\n")
    assert "was not imported" in run_badly("csv", tmp_path, replace=True)[1]
    assert Entry.objects.get().event == "fever"


def test_what_cannot_be_started_says_why(dataset, tmp_path):
    with pytest.raises(CommandError, match="no such file"):
        run("brat", tmp_path / "nowhere")
    with pytest.raises(CommandError, match="there is: cohort"):
        call_command("import_timelines", dataset="x", format="csv", path=tmp_path, source="other")
    make_theirs(Encounter.objects.get(case_id="20001"))
    make_theirs(Encounter.objects.get(case_id="20001"), source="theirs/b")
    path = export("jsonl", tmp_path)
    with pytest.raises(CommandError, match="2 sources: theirs/a, theirs/b; choose one with --only"):
        run("jsonl", path)
    assert "1 timelines imported" in run("jsonl", path, only="theirs/b", kind="revised")
    with pytest.raises(CommandError, match="Nothing to import"):
        run("jsonl", path, source="third", only="theirs/b", kind="reference")


def test_the_case_page_shows_an_imported_timeline(dataset, client, tmp_path):
    (tmp_path / "20001.csv").write_text(
        "event,time,confidence\nFever,-72,8\nchest pain,,2\nnowhere to be seen,0,1\n"
    )
    run("csv", tmp_path)
    run("csv", tmp_path, source="second system")
    encounter = Encounter.objects.get(case_id="20001")
    client.force_login(factories.make_user(dataset.study, Role.CLINICIAN))
    for timeline in Timeline.objects.all():
        page = client.get(
            reverse("timelines:case", args=[encounter.public_id]), {"t": timeline.public_id}
        )
        html = page.content.decode()
        assert page.status_code == 200
        assert "second system" in html
        assert "nowhere to be seen" in html
        uid = Occurrence.objects.get(
            inventory=timeline.inventory, mention="nowhere to be seen"
        ).uid4
        panel = client.get(
            reverse("timelines:chain", args=[encounter.public_id, uid]), {"t": timeline.public_id}
        )
        assert panel.status_code == 200
        assert "nowhere to be seen" in panel.content.decode()


def test_a_dataset_goes_with_its_imported_timelines(dataset, tmp_path):
    (tmp_path / "20001.csv").write_text("event,time\nFever,-72\n")
    run("csv", tmp_path)
    dataset.delete()
    assert not Inventory.objects.exists()


@pytest.mark.parametrize("format", FORMATS)
def test_a_clinicians_reference_comes_back_from_every_format(tmp_path, format):
    from_demo = import_folder(DEMO / "cohort", cases=["20338077"])
    before = export("jsonl", tmp_path / "before", source=["reference"]).read_text(encoding="utf-8")
    said = run(format, export(format, tmp_path / "out", source=["reference"]))
    count = before.count("\n")
    assert f"{count} occurrences stored, {count} of them with a place in the note; 0 faults" in said
    after = export("jsonl", tmp_path / "after", source=["other"]).read_text(encoding="utf-8")
    assert after.replace('"source": "other"', '"source": "reference"') == before
    assert from_demo.encounters.count() == 1
