"""Import case folders: storing, rejecting, repeating, resuming.

Rejections have their place; a killed import continues.
"""

import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from accounts.models import AuditEvent, Study
from config.env import BASE_DIR
from ehr import registry
from ehr.actions import delete_dataset, import_dataset
from ehr.ingest.cases import Replacing
from ehr.ingest.lock import ImportBusy
from ehr.models import Dataset, Encounter, EventSeries, ImportedPart, Note, RejectedRow, SourceRow
from ehr.partitions import ensure_partition, partition_exists, partition_name
from tests.worlds.ehr_cases import ROWS, write_case

DEMO = BASE_DIR / "demo" / "cohort"


@pytest.fixture
def study(db) -> Study:
    return Study.objects.create(name="imports")


@pytest.fixture
def bring(study):
    """Import a folder of cases into the dataset "cohort"."""
    return lambda path, **options: import_dataset(
        path=path, format="cases", name="cohort", study=study, by=None, **options
    )


def load_rows() -> list[object]:
    """All that an import writes, primary keys included."""
    tables = [
        Dataset,
        Encounter,
        Note,
        EventSeries,
        ImportedPart,
        RejectedRow,
        SourceRow,
        AuditEvent,
    ]
    return [list(table._default_manager.order_by("pk").values()) for table in tables]


def test_a_case_is_stored_whole(bring, tmp_path):
    write_case(tmp_path, note="  Lactate\r\n4.1 \u2192 2.0\t😀 <b>&amp;\n")
    report = bring(tmp_path)
    encounter = Encounter.objects.get()
    assert (report.imported, report.rows, report.series, report.rejected) == (1, 4, 2, 0)
    assert (encounter.case_id, encounter.admitted_at, encounter.row_count) == (
        "c1",
        datetime(2150, 1, 1, 8),
        4,
    )
    assert encounter.notes.get().text == "  Lactate\r\n4.1 \u2192 2.0\t😀 <b>&amp;\n"
    second = SourceRow.objects.get(row_index=1)
    assert (second.time, second.event, second.value, second.numeric_value) == (
        datetime(2150, 1, 1, 9, 30),
        "lab:lactate:blood",
        "4.1",
        4.1,
    )
    assert (second.unit, second.source, second.time_kind, second.result_time) == (
        "mmol/L",
        "labevents",
        "collection",
        None,
    )
    assert SourceRow.objects.get(row_index=3).time is None
    series = EventSeries.objects.get(event="lab:lactate:blood")
    assert (series.row_indices, series.count, series.first, series.priority) == (
        [1, 2],
        2,
        datetime(2150, 1, 1, 9, 30),
        5,
    )
    assert series.summary.startswith("lab:lactate:blood (mmol/L)\ncount 2")
    assert not EventSeries.objects.filter(event="diagnosis:sepsis:").exists()
    assert Dataset.objects.get().state == Dataset.State.READY


def test_the_demo_cohort_has_nothing_to_reject(bring):
    report = bring(DEMO)
    assert (report.imported, report.rejected, report.rows) == (12, 0, 42_292)
    assert SourceRow.objects.count() == 42_292
    assert Dataset.objects.get().licence


def test_the_same_input_twice_changes_nothing(bring, tmp_path):
    write_case(tmp_path)
    write_case(tmp_path, "c2", rows=ROWS + "yesterday,lab:sodium:,140,,,\n")
    write_case(tmp_path, "c3", admitted_at="soon")
    first = bring(tmp_path)
    before = load_rows()
    again = bring(tmp_path)
    assert load_rows() == before
    assert (first.imported, first.refused, first.rejected) == (2, 1, 2)
    assert (again.imported, again.unchanged, again.refused, again.rejected) == (0, 2, 1, 2)
    assert [r.reason for r in again.rejections] == [r.reason for r in first.rejections]


def test_a_row_that_cannot_be_read_keeps_its_place_and_is_kept(bring, tmp_path):
    rows = (
        ROWS.replace("2150-01-01T09:30:00", "31.01.2150")
        + '2150-01-02,"micro:urine\nculture:",x,,,\n2150-01-02,,y,,,\n2150-01-02,lab:na:,1,,,soon\n'
    )
    write_case(tmp_path, rows=rows)
    report = bring(tmp_path)
    found = list(
        RejectedRow.objects.order_by("line").values_list("case_id", "file", "line", "field")
    )
    assert found == [
        ("c1", "c1/rows.csv", 3, "t"),
        ("c1", "c1/rows.csv", 8, "event"),
        ("c1", "c1/rows.csv", 9, "time_kind"),
    ]
    assert list(SourceRow.objects.values_list("row_index", flat=True)) == [0, 2, 3, 4]
    encounter = Encounter.objects.get()
    assert (encounter.row_count, encounter.invalid_time_count, report.rejected) == (4, 1, 3)
    assert Dataset.objects.get().state == Dataset.State.INCOMPLETE


@pytest.mark.parametrize(
    ("break_it", "file", "field"),
    [
        (lambda f: (f / "note.txt").unlink(), "note.txt", ""),
        (lambda f: (f / "note.txt").write_bytes(b"caf\xe9"), "note.txt", ""),
        (lambda f: (f / "note.txt").write_bytes(b"a\x00b"), "note.txt", ""),
        (lambda f: (f / "encounter.json").unlink(), "encounter.json", ""),
        (lambda f: (f / "encounter.json").write_text("{"), "encounter.json", ""),
        (lambda f: (f / "rows.csv").rename(f / "rows.tsv"), "rows.tsv", ""),
        (lambda f: (f / "rows.csv").write_text("t,event\n"), "rows.csv", "value"),
        (
            lambda f: (f / "rows.csv").write_bytes(b"t,event,value\n2150-01-01,a,\xff\n"),
            "rows.csv",
            "",
        ),
        (lambda f: write_case(f.parent, "bad", case_id="c1"), "encounter.json", ""),
        (
            lambda f: write_case(f.parent, "bad", admitted_at="1 January 2150"),
            "encounter.json",
            "admitted_at",
        ),
        (
            lambda f: write_case(f.parent, "bad", discharged_at="2149-01-01T08:00:00"),
            "encounter.json",
            "discharged_at",
        ),
        (lambda f: write_case(f.parent, "bad", case_id=None), "encounter.json", "case_id"),
        (lambda f: write_case(f.parent, "bad", anchor="birth"), "encounter.json", "anchor"),
    ],
)
def test_a_bad_case_is_named_and_the_good_ones_are_there(bring, tmp_path, break_it, file, field):
    folder = write_case(tmp_path, "bad")
    write_case(tmp_path, "c1")
    write_case(tmp_path, "a-good-one")
    # The duplicate is the later folder of the two: "bad" with the id of "c1" is read first.
    break_it(folder)
    report = bring(tmp_path)
    assert report.refused == 1
    assert Encounter.objects.count() == 2
    rejection = RejectedRow.objects.get()
    assert (Path(rejection.file).name, rejection.field) == (file, field)
    assert bring(tmp_path).refused == 1


def test_a_corrected_case_is_imported_and_its_rejections_go(bring, tmp_path):
    write_case(tmp_path, admitted_at="soon")
    bring(tmp_path)
    write_case(tmp_path)
    assert bring(tmp_path).imported == 1
    assert not RejectedRow.objects.exists()
    assert Dataset.objects.get().state == Dataset.State.READY


def test_a_changed_case_is_replaced_only_when_asked(bring, tmp_path):
    write_case(tmp_path)
    bring(tmp_path)
    write_case(tmp_path, note="Another note.")
    assert bring(tmp_path).refused == 1
    assert Note.objects.get().text == "Lactate 4.1, then 2.0."
    assert bring(tmp_path, replacing=Replacing(changed=True)).imported == 1
    assert Note.objects.get().text == "Another note."
    assert SourceRow.objects.count() == 4
    assert not RejectedRow.objects.exists()


def test_only_chosen_cases(bring, tmp_path):
    for case_id in ("c1", "c2"):
        write_case(tmp_path, case_id)
    assert bring(tmp_path, cases=["c2"]).imported == 1
    assert Encounter.objects.get().case_id == "c2"


def test_a_hook_takes_its_part_of_the_folder_and_reports(bring, tmp_path, monkeypatch):
    seen = []

    def hook(encounter, folder, report):
        seen.append((encounter.case_id, (folder / "note.txt").exists(), encounter.rows.count()))
        report.reject(file="reference.jsonl", line=3, field="start", reason="outside the note")

    monkeypatch.setattr(registry, "_import_hooks", [])
    registry.register_import_hook(hook)
    write_case(tmp_path)
    assert bring(tmp_path).rejected == 1
    assert seen == [("c1", True, 4)]
    kept = RejectedRow.objects.get()
    assert (kept.file, kept.line, kept.field, kept.case_id) == (
        "c1/reference.jsonl",
        3,
        "start",
        "c1",
    )


def test_a_hook_that_breaks_leaves_nothing_of_its_case(bring, tmp_path, monkeypatch):
    def hook(encounter, folder, report):
        if encounter.case_id == "c2":
            raise ZeroDivisionError

    monkeypatch.setattr(registry, "_import_hooks", [hook])
    for case_id in ("c1", "c2"):
        write_case(tmp_path, case_id)
    with pytest.raises(ZeroDivisionError):
        bring(tmp_path)
    assert list(Encounter.objects.values_list("case_id", flat=True)) == ["c1"]
    assert SourceRow.objects.count() == 4


def test_the_command_says_what_it_did_and_exits_non_zero_on_rejections(db, tmp_path, capsys):
    write_case(tmp_path, note="CANARY in the note", rows=ROWS + "CANARY,CANARY,CANARY,,,\n")
    with pytest.raises(CommandError, match="rejected"):
        call_command("import_dataset", format="cases", path=tmp_path, name="x", study="new study")
    shown = capsys.readouterr()
    assert "c1/rows.csv, line 6, t: not a date and time" in shown.out
    assert "CANARY" not in shown.out + shown.err
    assert Dataset.objects.get().study.name == "new study"


def test_a_path_without_cases_is_named(db, tmp_path):
    with pytest.raises(CommandError, match="has no case folder"):
        call_command("import_dataset", format="cases", path=tmp_path, name="x")


def test_partitions_come_and_go_with_the_dataset(bring, tmp_path, study):
    write_case(tmp_path)
    bring(tmp_path)
    dataset = Dataset.objects.get()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_partition_tree(%s) WHERE isleaf", [partition_name(dataset.pk)]
        )
        assert cursor.fetchone() == (4,)
    assert ensure_partition(dataset.pk) is False
    other = Dataset.objects.create(study=study, name="other", format="cases")
    delete_dataset(dataset=dataset, by=None)
    assert not SourceRow.objects.exists()
    assert not partition_exists(dataset.pk)
    other.delete()  # had no partition


def test_the_database_refuses_rows_of_an_encounter_of_another_dataset(bring, tmp_path, study):
    write_case(tmp_path)
    bring(tmp_path)
    other = Dataset.objects.create(study=study, name="other", format="cases")
    ensure_partition(other.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        SourceRow.objects.create(
            dataset=other,
            encounter=Encounter.objects.get(),
            row_index=0,
            event="a",
            time_kind="unknown",
        )


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_one_dataset_exclude_each_other(tmp_path, process_environment):
    write_case(tmp_path)
    study = Study.objects.create(name="imports")
    import_dataset(path=tmp_path, format="cases", name="cohort", study=study, by=None)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_lock(hashtext('ehr.import'), %s)", [Dataset.objects.get().pk]
        )
        command = [
            sys.executable,
            "manage.py",
            "import_dataset",
            "--format=cases",
            f"--path={tmp_path}",
            "--name=cohort",
            "--study=imports",
        ]
        result = subprocess.run(
            command,
            cwd=BASE_DIR,
            env=process_environment,
            capture_output=True,
            text=True,
            check=False,
        )
        cursor.execute("SELECT pg_advisory_unlock_all()")
    assert result.returncode == 1
    assert "imported by another process" in result.stderr
    assert issubclass(ImportBusy, RuntimeError)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_killed_goes_on_where_it_stopped(tmp_path, process_environment):
    for number in range(600):
        write_case(tmp_path, f"c{number:03}")
    command = [
        sys.executable,
        "manage.py",
        "import_dataset",
        "--format=cases",
        f"--path={tmp_path}",
        "--name=cohort",
        "--study=imports",
    ]
    process = subprocess.Popen(
        command,
        cwd=BASE_DIR,
        env=process_environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 600
    while Encounter.objects.count() < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = dict(Encounter.objects.values_list("case_id", "pk"))
    assert 5 <= len(before) < 600
    assert SourceRow.objects.count() == 4 * len(before)
    subprocess.run(command, cwd=BASE_DIR, env=process_environment, capture_output=True, check=True)
    after = dict(Encounter.objects.values_list("case_id", "pk"))
    assert len(after) == 600
    assert before.items() <= after.items()
    assert SourceRow.objects.count() == 2400
    assert Dataset.objects.get().state == Dataset.State.READY
