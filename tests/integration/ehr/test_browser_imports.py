"""Imports on pages: bring files, check, import, pause, mend, delete."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Notification, Role
from accounts.requests.guard import UPLOADS
from adjudication.models import JudgeRun
from ehr.actions import delete_dataset
from ehr.models import (
    Dataset,
    DatasetDeletion,
    Encounter,
    ImportedPart,
    ImportJob,
    Note,
    RejectedRow,
    SavedMapping,
    SourceRow,
    Upload,
)
from ehr.models.jobs import ACTIVE
from ehr.removal.actions import start_deletion
from ehr.removal.execution import execute_deletion
from ehr.uploads import actions, storage
from ehr.uploads.execution import Watch, execute_import
from ehr.uploads.names import UploadRefused
from jobs.leases.hold import Hold
from jobs.models import JobState
from tests import factories
from tests.paths import DATA
from tests.worlds.ehr_cases import write_case
from tests.worlds.evaluated import make_evaluation, store_case
from tests.worlds.fhir_exports import make_stay, write_bulk
from timelines.models import Evaluation

pytestmark = pytest.mark.django_db(transaction=True)

NOTES = {"1__2150-01-01T08-00__ed note.txt": "Fell at home.", "2__2150-01-02.txt": "Fever."}


@pytest.fixture
def study(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "files"
    return factories.make_study("imports")


@pytest.fixture
def admin(study):
    return factories.make_user(study, Role.ADMIN)


@pytest.fixture
def web(admin):
    client = Client()
    client.force_login(admin)
    return client


def pack(files: dict[str, str | bytes]) -> SimpleUploadedFile:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return SimpleUploadedFile("export.zip", buffer.getvalue())


def pack_folder(folder: Path) -> SimpleUploadedFile:
    files = [p for p in folder.rglob("*") if p.is_file()]
    return pack({p.relative_to(folder).as_posix(): p.read_bytes() for p in files})


def bring(web: Client, *files: SimpleUploadedFile, **data: str) -> Upload:
    answer = web.post(UPLOADS, {"files": list(files), **data})
    assert answer.status_code == 302, answer.content.decode()
    return Upload.objects.latest("pk")


def work() -> list[JobState | None]:
    """Do every job that waits, as a worker does."""
    waiting = ImportJob.objects.filter(state=JobState.QUEUED).order_by("pk")
    return [execute_import(pk) for pk in list(waiting.values_list("pk", flat=True))]


def start(web: Client, upload: Upload, name: str = "cohort", **data: str) -> ImportJob:
    upload.refresh_from_db()
    sent = {"format": upload.format, "name": name, "import": "1", **data}
    answer = web.post(reverse("ehr:upload_settings", args=[upload.public_id]), sent)
    assert answer.status_code == 302, answer.content.decode()
    return ImportJob.objects.latest("pk")


def page(web: Client, upload: Upload) -> str:
    return web.get(reverse("ehr:upload", args=[upload.public_id])).content.decode()


def test_the_address_of_files_is_the_page_of_imports():
    assert reverse("ehr:import_new") == UPLOADS


def test_each_import_is_notified_once_and_no_check(web, admin):
    upload = bring(web, pack(NOTES))
    assert work() == [JobState.SUCCEEDED]
    assert not Notification.objects.exists()
    first = start(web, upload)
    work()
    second = start(web, upload)
    work()
    second.refresh_from_db()
    assert second.result["unchanged"] == 1, "nothing changed, and the person still learns the end"
    found = Notification.objects.filter(recipient=admin).order_by("pk")
    assert list(found.values_list("key", flat=True)) == [first.public_id, second.public_id]


def test_unrecognised_files_are_named_beside_what_each_format_expects(web):
    upload = bring(web, SimpleUploadedFile("scan.pdf", b"%PDF"))
    page = web.get(reverse("ehr:upload", args=[upload.public_id])).content.decode()
    assert "Found: scan.pdf." in page
    for words in ("hosp/admissions.csv", "visit_occurrence", "encounter.json and note.txt"):
        assert words in page
    known = bring(web, pack(NOTES))
    page = web.get(reverse("ehr:upload", args=[known.public_id])).content.decode()
    assert "Files that each format expects" not in page


def test_a_zip_is_recognised_checked_and_imported(web, study, admin):
    write = {**{f"export/{n}": t for n, t in NOTES.items()}, "export/3.txt": " "}
    upload = bring(web, pack(write))
    assert (upload.format, upload.files, upload.title) == ("text", 3, "export.zip")
    assert work() == [JobState.SUCCEEDED]
    assert not Dataset.objects.exists()
    found = ImportJob.objects.get().result
    assert [stay["case_id"] for stay in found["first"]] == ["1"]
    shown = page(web, upload)
    assert "1 stay, 1 note," in " ".join(shown.split())
    assert "the note is empty" in shown
    assert "no time of admission" in shown
    reasons = web.get(reverse("ehr:upload_reasons", args=[upload.public_id]))
    lines = list(csv.DictReader(io.StringIO(b"".join(reasons.streaming_content).decode())))
    assert {line["file"] for line in lines} == {"note/2__2150-01-02.txt", "note/3.txt"}
    job = start(web, upload)
    assert work() == [JobState.SUCCEEDED]
    job.refresh_from_db()
    assert (job.result["imported"], job.dataset) == (1, Dataset.objects.get())
    assert Note.objects.get().text == "Fell at home."
    assert "1 stay imported into cohort" in " ".join(page(web, upload).split())
    notified = Notification.objects.get(recipient=admin)
    assert (notified.kind, notified.path) == ("import_finished", f"/imports/{upload.public_id}/")
    kinds = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"import.upload", "import.check", "import.start", "dataset.import"} <= kinds


@pytest.mark.parametrize(
    ("folder", "format", "stays"),
    [("fhir/synthea", "fhir", 5), ("omop", "omop", 2), ("mimic_iv", "mimic_iv", 1)],
)
def test_exports_of_each_kind(web, study, folder, format, stays):
    upload = bring(web, pack_folder(DATA / "ehr" / folder))
    assert upload.format == format
    assert work() == [JobState.SUCCEEDED]
    checked = ImportJob.objects.get().result
    start(web, upload)
    assert work() == [JobState.SUCCEEDED]
    imported = ImportJob.objects.latest("pk").result
    # The check counted what the import stores.
    assert checked["stays"] == Encounter.objects.count() >= stays
    assert checked["rows"] == SourceRow.objects.count() == imported["rows"]
    assert checked["notes"] == Note.objects.count()
    assert checked["faults"] == RejectedRow.objects.count() == imported["faults"]


def test_refused_cases_are_mended_and_brought_again(web, study, tmp_path):
    for name in ("a", "b"):
        write_case(tmp_path / "in", name)
    (tmp_path / "in" / "b" / "encounter.json").write_text("{")
    upload = bring(web, pack_folder(tmp_path / "in"))
    work()
    start(web, upload)
    work()
    assert list(Encounter.objects.values_list("case_id", flat=True)) == ["a"]
    assert "b/encounter.json" in page(web, upload)
    kept = Encounter.objects.get().pk
    write_case(tmp_path / "in", "b")
    again = bring(web, pack_folder(tmp_path / "in"))
    work()
    start(web, again)
    assert work() == [JobState.SUCCEEDED]
    assert set(Encounter.objects.values_list("case_id", flat=True)) == {"a", "b"}
    assert Encounter.objects.get(case_id="a").pk == kept
    assert ImportJob.objects.latest("pk").result["faults"] == 0


def test_columns_are_mapped_and_the_mapping_is_saved(web, study):
    table = SimpleUploadedFile("c1.csv", b"when,what,value\n2150-01-01T08:00,a:b:c,1\n")
    upload = bring(web, table)
    assert upload.format == "csv"
    work()
    assert ImportJob.objects.get().result["faults"] == 1
    assert '<option value="when">' in page(web, upload)
    mapped = {"column_t": "when", "column_event": "what", "save_as": "ward"}
    settings = reverse("ehr:upload_settings", args=[upload.public_id])
    assert web.post(settings, {"format": "csv", **mapped}).status_code == 302
    assert work() == [JobState.SUCCEEDED]
    found = ImportJob.objects.latest("pk").result
    assert (found["stays"], found["rows"], found["faults"]) == (1, 1, 0)
    assert {"name": "when", "meaning": "t"} in found["names"]
    assert SavedMapping.objects.get().values == {"columns": [["t", "when"], ["event", "what"]]}
    # Another upload uses it by its name.
    other = bring(web, SimpleUploadedFile("c2.csv", b"when,what,value\n2150-01-01T08:00,a:b:c,1\n"))
    work()
    start(web, other, saved="ward")
    assert work() == [JobState.SUCCEEDED]
    assert SourceRow.objects.get().event == "a:b:c"
    bad = web.post(settings, {"format": "csv", "column_t": "value"})
    assert "is value as well" in bad.content.decode()


def test_what_is_refused_is_said_and_leaves_nothing(web, study):
    def refuse(*files, **data):
        answer = web.post(UPLOADS, {"files": list(files), **data})
        assert answer.status_code == 200
        assert not Upload.objects.exists()
        left = [p for p in storage.uploads_folder().rglob("*") if p.is_file()]
        assert left == []
        return answer.content.decode()

    assert "Choose files" in refuse()
    assert "leads outside" in refuse(pack({"../a.txt": "x"}))
    assert "Send a zip alone" in refuse(pack({"a": "x"}), SimpleUploadedFile("b.txt", b"x"))
    one = SimpleUploadedFile("a.txt", b"x")
    assert "leads outside" in refuse(one, paths='["../a.txt"]')
    assert "do not fit" in refuse(one, paths='["a", "b"]')
    assert "cannot be read" in refuse(one, paths="{")
    assert "not allowed" in refuse(folder="/etc")


def test_too_many_bytes_are_refused_while_they_arrive(web, study, settings):
    settings.UPLOAD_BYTES = 100_000
    answer = web.post(UPLOADS, {"files": [SimpleUploadedFile("a.txt", b"x" * 300_000)]})
    assert "UPLOAD_BYTES" in answer.content.decode()
    assert not [p for p in storage.uploads_folder().rglob("*") if p.is_file()]


def test_files_are_stored_from_admins_on_that_page_alone(web, study):
    clinician = Client()
    clinician.force_login(factories.make_user(study, Role.CLINICIAN))
    sent = {"files": [SimpleUploadedFile("a.txt", b"x")], "username": "x"}
    assert clinician.post(UPLOADS, sent).status_code == 403
    assert Client().post(UPLOADS, sent).status_code == 302
    Client().post(reverse("accounts:sign_in"), sent)
    web.post(reverse("accounts:api_tokens"), {**sent, "label": "x"})
    assert not storage.uploads_folder().exists()


def test_paths_of_a_dropped_folder_are_kept(web, study):
    files = [SimpleUploadedFile("admissions.csv", b"x"), SimpleUploadedFile("b.csv", b"y")]
    upload = bring(web, *files, paths=json.dumps(["mimic/hosp/admissions.csv", "mimic/icu/b.csv"]))
    assert (upload.format, upload.title) == ("mimic_iv", "mimic")


def test_a_folder_of_the_server(web, study, admin, settings, tmp_path):
    allowed, outside = tmp_path / "exports", tmp_path / "outside"
    for folder in (allowed / "notes", outside):
        folder.mkdir(parents=True)
        for name, text in NOTES.items():
            (folder / name).write_text(text)
    (allowed / "link").symlink_to(outside)
    settings.IMPORT_FOLDERS = [str(allowed)]
    shown = web.get(UPLOADS).content.decode()
    assert "exports/notes" in shown
    assert "exports/link" not in shown
    upload = bring(web, folder="exports/notes")
    assert work() == [JobState.SUCCEEDED]
    start(web, upload)
    work()
    assert Encounter.objects.count() == 1
    assert str(tmp_path) not in page(web, upload)
    settings.IMPORT_FOLDERS = []
    job = start(web, upload, "other")
    assert work() == [JobState.FAILED]
    job.refresh_from_db()
    assert "does not allow this folder" in job.reasons[0]
    actions.remove_files(upload=upload, by=admin)
    assert (allowed / "notes" / next(iter(NOTES))).is_file()


def test_another_format_can_be_chosen_and_failures_hide_the_machine(web, study, tmp_path):
    upload = bring(web, pack(NOTES))
    work()
    settings = reverse("ehr:upload_settings", args=[upload.public_id])
    assert web.post(settings, {"format": "omop"}).status_code == 302
    assert work() == [JobState.FAILED]
    (reason,) = ImportJob.objects.latest("pk").reasons
    assert "has no visit_occurrence.csv" in reason
    assert str(tmp_path) not in reason
    assert web.post(settings, {"format": "odd"}).status_code == 200


def test_a_name_that_is_taken_by_another_format_is_refused(web, study):
    factories.make_dataset(study, "cohort")
    upload = bring(web, pack(NOTES))
    work()
    sent = {"format": "text", "name": "cohort", "import": "1"}
    answer = web.post(reverse("ehr:upload_settings", args=[upload.public_id]), sent)
    assert "was imported as cases" in answer.content.decode()
    empty = web.post(reverse("ehr:upload_settings", args=[upload.public_id]), {**sent, "name": ""})
    assert "Enter a name" in empty.content.decode()


def test_one_job_at_a_time_works_on_an_upload(web, study, admin):
    upload = bring(web, pack(NOTES))
    with pytest.raises(UploadRefused, match="in progress"):
        actions.start_check(upload=upload, format="text", mapping={}, by=admin)
    with pytest.raises(UploadRefused, match="in progress"):
        actions.remove_files(upload=upload, by=admin)
    work()
    actions.remove_files(upload=upload, by=admin)
    upload.refresh_from_db()
    assert ImportJob.objects.get().result == {}
    assert not storage.upload_folder(upload.public_id).exists()
    with pytest.raises(UploadRefused, match="removed"):
        actions.start_check(upload=upload, format="text", mapping={}, by=admin)


def test_the_counts_of_an_import_stay_when_its_files_are_removed(web, study, admin):
    upload = bring(web, pack(NOTES))
    work()
    start(web, upload)
    work()
    actions.remove_files(upload=upload, by=admin)
    shown = " ".join(page(web, upload).split())
    assert "1 stay imported into cohort" in shown
    assert "0 unchanged, 1 stay refused, 0 new rows." in shown
    assert "Correct the files named in the reasons" not in shown
    assert "This dataset was deleted." not in shown
    delete_dataset(dataset=Dataset.objects.get(), by=admin)
    assert "This dataset was deleted." in page(web, upload)


def test_the_run_after_an_import_is_over_its_dataset(web, study):
    factories.make_dataset(study, name="another")
    upload = bring(web, pack(NOTES))
    work()
    start(web, upload)
    work()
    address = (
        f"{reverse('timelines:run_new')}?dataset={Dataset.objects.get(name='cohort').public_id}"
    )
    assert address in page(web, upload)
    shown = web.get(address).content.decode()
    chosen = Dataset.objects.get(name="cohort").public_id
    assert f'value="{chosen}" selected' in shown


def test_several_files_suggest_no_name(web, study):
    upload = bring(web, *(SimpleUploadedFile(n, t.encode()) for n, t in NOTES.items()))
    work()
    assert upload.title == "2 files"
    assert 'value="2 files"' not in page(web, upload)


def test_the_page_of_a_check_is_empty_when_its_files_are_removed(web, study, admin):
    upload = bring(web, pack(NOTES))
    work()
    actions.remove_files(upload=upload, by=admin)
    assert "import-preview" not in page(web, upload)


def test_a_paused_import_waits_and_goes_on(web, study, monkeypatch, tmp_path):
    """Pause after the first case; the others follow when it is resumed."""
    for name in ("a", "b", "c"):
        write_case(tmp_path / "in", name)
    upload = bring(web, pack_folder(tmp_path / "in"))
    work()
    job = start(web, upload)
    act = reverse("ehr:upload_action", args=[upload.public_id, "pause"])
    look = Watch.__call__

    def pause(self, done, total, words):
        if done == 1:
            assert web.post(act).status_code == 302
        self._looked = 0.0
        look(self, done, total, words)

    monkeypatch.setattr("ehr.uploads.execution.LOOK_SECONDS", 0.0)
    monkeypatch.setattr(Watch, "__call__", pause)
    assert execute_import(job.pk) == JobState.QUEUED
    job.refresh_from_db()
    assert (job.attempt, job.paused_at is None) == (0, False)
    assert Encounter.objects.count() == 1
    assert execute_import(job.pk) is None, "a paused job is not taken"
    assert "Paused" in page(web, upload)
    monkeypatch.setattr(Watch, "__call__", look)
    web.post(reverse("ehr:upload_action", args=[upload.public_id, "resume"]))
    assert execute_import(job.pk) == JobState.SUCCEEDED
    assert Encounter.objects.count() == 3
    assert ImportedPart.objects.count() == 3


def test_changed_stays_are_replaced_when_the_page_is_asked(web, study):
    for place, expected in enumerate(("Fell at home.", "Fell at home.", "Fell at work.")):
        written = "Fell at work." if place else "Fell at home."
        upload = bring(web, pack({"1__2150-01-01T08-00__ed note.txt": written}))
        work()
        job = start(
            web, upload, **({"replace": "on", "delete_authored": "on"} if place == 2 else {})
        )
        work()
        job.refresh_from_db()
        assert (job.replace, job.delete_authored) == (place == 2, place == 2)
        assert ("with other content" in page(web, upload)) == (place == 1)
        assert Note.objects.get().text == expected


def test_a_cancelled_import_keeps_what_it_has_and_can_go_on(web, study):
    upload = bring(web, pack(NOTES))
    work()
    job = start(web, upload)
    cancel = reverse("ehr:upload_action", args=[upload.public_id, "cancel"])
    web.post(cancel)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert work() == []
    answer = web.post(cancel, follow=True)
    assert "has ended already" in answer.content.decode()
    web.post(reverse("ehr:upload_action", args=[upload.public_id, "retry"]))
    assert work() == [JobState.SUCCEEDED]
    assert Encounter.objects.count() == 1
    assert web.post(cancel.replace("cancel", "nothing")).status_code == 404


#: Executes one job and hangs in its second block of a file.
DOOMED = """
import sys, time
import django
django.setup()
from ehr.formats.fhir import blocks
blocks.ROWS_AT_ONCE = 5
from ehr.ingest import streams
from ehr.uploads.execution import execute_import
store, stored = streams._Import._store, []

def doomed(self, *arguments):
    if len(stored) == 2:
        print("hanging", flush=True)
        time.sleep(300)
    stored.append(1)
    store(self, *arguments)

streams._Import._store = doomed
execute_import(int(sys.argv[1]))
"""


def test_a_killed_worker_doubles_nothing(web, study, tmp_path, process_environment, monkeypatch):
    (tmp_path / "in").mkdir()
    resources = [r for day in range(1, 9) for r in make_stay(f"s{day}", day=f"2150-01-0{day}")]
    write_bulk(tmp_path / "in", resources)
    upload = bring(web, pack_folder(tmp_path / "in"))
    work()
    once = ImportJob.objects.get().result
    job = start(web, upload)
    folder = Path(process_environment["OCCURRENT_VAR"]) / "files" / "uploads"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / upload.public_id).symlink_to(storage.upload_folder(upload.public_id))
    worker = subprocess.Popen(
        [sys.executable, "-c", DOOMED, str(job.pk)],
        env=process_environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "hanging\n"
        os.kill(worker.pid, signal.SIGKILL)
    finally:
        worker.kill()
        worker.wait()
    job.refresh_from_db()
    assert job.state == JobState.RUNNING
    assert ImportedPart.objects.exists()
    ImportJob.objects.filter(pk=job.pk).update(lease_expires_at=timezone.now())
    assert execute_import(job.pk) == JobState.SUCCEEDED
    assert SourceRow.objects.count() == once["rows"]
    assert Note.objects.count() == once["notes"]
    assert Encounter.objects.count() == 8


def test_two_imports_of_the_same_at_once_double_nothing(web, study, monkeypatch):
    """The second waits for the first, and finds everything there."""
    first, second = bring(web, pack(NOTES)), bring(web, pack(NOTES))
    work()
    jobs = [start(web, upload) for upload in (first, second)]
    look, seen = Watch.__call__, []

    def beside(self, done, total, words):
        if not seen:
            seen.append(1)

            def other():
                seen.append(execute_import(jobs[1].pk))
                connection.close()

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        look(self, done, total, words)

    monkeypatch.setattr(Watch, "__call__", beside)
    assert execute_import(jobs[0].pk) == JobState.SUCCEEDED
    assert seen == [1, JobState.QUEUED]
    jobs[1].refresh_from_db()
    assert (jobs[1].attempt, jobs[1].outages, jobs[1].not_before) == (0, 1, None), "and was woken"
    assert execute_import(jobs[1].pk) == JobState.SUCCEEDED
    jobs[1].refresh_from_db()
    assert (jobs[1].result["imported"], jobs[1].result["unchanged"]) == (0, 1)
    assert (Encounter.objects.count(), Note.objects.count()) == (1, 1)


def make_cohort(study, stays: int = 3) -> Dataset:
    dataset = factories.make_dataset(study, "cohort")
    for number in range(stays):
        case = factories.make_encounter(dataset, case_id=f"c{number}")
        note = factories.make_note(case, "Fell at home.")
        factories.make_row(case, "lab:a:b", 1.0)
        run = dataset.runs.first() or factories.make_run(dataset)
        inventory = factories.make_inventory(note, run)
        occurrence = factories.make_occurrence(inventory, "Fell")
        case_run = factories.make_case_run(run, case, inventory)
        factories.make_timeline(inventory, {occurrence: 1.0}, case_run=case_run)
    return dataset


def test_what_covers_other_datasets_too_stays(study, admin):
    """Evaluations and judge runs of the dataset alone are deleted with it."""
    dataset, other = make_cohort(study), factories.make_dataset(study, "other")
    alone, both = make_evaluation(study, [dataset]), make_evaluation(study, [dataset, other])
    store_case(both, dataset.encounters.first())
    values = {"sources": [], "judge": "rules", "judge_name": "rules", "judge_version": "1"}
    judged = [JudgeRun.objects.create(study=study, **values) for _ in range(2)]
    judged[0].datasets.set([dataset])
    judged[1].datasets.set([dataset, other])
    delete_dataset(dataset=dataset, by=admin)
    assert not Evaluation.objects.filter(pk=alone.pk).exists()
    assert both.cases.count() == 0
    assert list(JudgeRun.objects.all()) == [judged[1]]
    losses = AuditEvent.objects.get(action="dataset.delete").detail
    assert (losses["runs"], losses["evaluations"], losses["judge runs"]) == (1, 1, 1)


def test_a_dataset_is_deleted_once_its_name_is_typed(web, study, admin, monkeypatch):
    monkeypatch.setattr("ehr.deletion.BATCH", 2)
    upload = bring(web, pack(NOTES))
    work()
    dataset = make_cohort(study)
    Dataset.objects.filter(pk=dataset.pk).update(format="text")
    start(web, upload)
    work()
    address = reverse("ehr:dataset_delete", args=[dataset.public_id])
    shown = " ".join(web.get(address).content.decode().split())
    for words, count in (("Stays", 4), ("Notes", 4), ("Runs", 1), ("Timelines of runs", 3)):
        assert f'<th scope="row">{words}</th><td class="num">{count}</td>' in shown
    wrong = web.post(address, {"confirmed": "Cohort"})
    assert "is not the name" in wrong.content.decode()
    assert web.post(address, {"confirmed": "cohort"}).status_code == 302
    job = DatasetDeletion.objects.get()
    follow = reverse("ehr:deletion", args=[job.public_id])
    assert "0 of 4 stays deleted" in web.get(follow).content.decode()
    again = web.post(address, {"confirmed": "cohort"})
    assert "being deleted already" in again.content.decode()
    assert execute_deletion(job.pk) == JobState.SUCCEEDED
    assert not Dataset.objects.exists()
    assert not Encounter.objects.exists()
    assert not SourceRow.objects.exists()
    upload.refresh_from_db()
    assert upload.removed_at is not None
    assert not storage.upload_folder(upload.public_id).exists()
    assert "4 of 4 stays deleted" in web.get(follow).content.decode()
    assert web.get(follow, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    event = AuditEvent.objects.get(action="dataset.delete")
    assert (event.actor, event.object_id, event.detail["stays"]) == (admin, dataset.public_id, 4)


def test_a_deletion_goes_on_after_a_stop(web, study, admin, monkeypatch):
    monkeypatch.setattr("ehr.deletion.BATCH", 1)
    dataset = make_cohort(study)
    job = start_deletion(dataset=dataset, confirmed="cohort", by=admin)
    act = reverse("ehr:deletion_action", args=[job.public_id, "cancel"])
    check = Hold.check

    def stop(self):
        if Encounter.objects.count() == 2:
            web.post(act)
            self.cancelled.set()
        check(self)

    monkeypatch.setattr(Hold, "check", stop)
    assert execute_deletion(job.pk) == JobState.CANCELLED
    assert Encounter.objects.count() == 2
    monkeypatch.setattr(Hold, "check", check)
    web.post(act.replace("cancel", "retry"))
    assert execute_deletion(job.pk) == JobState.SUCCEEDED
    assert not Dataset.objects.exists()
    assert not Encounter.objects.exists()
    job.refresh_from_db()
    assert job.deleted == job.total == 3


def test_nothing_of_a_dataset_with_an_import_in_progress_is_deleted(web, study, admin):
    upload = bring(web, pack(NOTES))
    work()
    start(web, upload)
    dataset = Dataset.objects.create(study=study, name="cohort", format="text")
    address = reverse("ehr:dataset_delete", args=[dataset.public_id])
    answer = web.post(address, {"confirmed": "cohort"})
    assert "Cancel it first" in answer.content.decode()
    assert ImportJob.objects.filter(state__in=ACTIVE).exists()


def test_an_admin_who_reviews_does_not_see_what_would_be_lost(web, study, monkeypatch):
    dataset = make_cohort(study, 1)
    closed = frozenset(dataset.encounters.values_list("public_id", flat=True))
    monkeypatch.setattr("ehr.removal.actions.all_closed_objects", lambda user: closed)
    answer = web.get(reverse("ehr:dataset_delete", args=[dataset.public_id]))
    assert answer.status_code == 403
    assert "Timelines of runs" not in answer.content.decode()


def test_the_lists_say_what_was_brought(web, study):
    upload = bring(web, pack(NOTES))
    work()
    shown = web.get(reverse("ehr:imports")).content.decode()
    assert upload.public_id in shown
    assert "Done" in shown
    assert "Import a dataset" in web.get(reverse("home")).content.decode()
    assert "Import a dataset" in web.get(reverse("timelines:cases")).content.decode()
    assert "Imports and datasets" in web.get(reverse("accounts:study")).content.decode()


def test_the_home_page_links_what_was_refused_to_its_reasons(web, study):
    upload = bring(web, pack({**NOTES, "3.txt": "No time."}))
    work()
    start(web, upload)
    work()
    assert RejectedRow.objects.exists()
    link = f'<a href="{reverse("ehr:upload", args=[upload.public_id])}">'
    home = " ".join(web.get(reverse("home")).content.decode().split())
    assert f"{link} See why" in home
    Upload.objects.all().delete()
    assert f'<a href="{reverse("ehr:imports")}"> See why' in " ".join(
        web.get(reverse("home")).content.decode().split()
    )
