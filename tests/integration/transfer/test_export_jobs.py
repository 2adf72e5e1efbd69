"""Exports as jobs: parts, kills, pauses, expiry, and who may download.

Every case is a part of its own, so that three cases are three parts.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Notification, Role, User
from accounts.permissions import NotAllowed
from adjudication.access.exposure import EXPOSING
from ehr.models import Dataset
from jobs import registry
from jobs.hints import resend_hints
from jobs.models import JobState
from tests import factories
from tests.worlds.exported import NOTE, make_finished_case
from tests.worlds.job_rows import expire_lease
from timelines.access import closed as closing
from timelines.authoring.actions import start_authoring
from timelines.domain import TimelineKind
from timelines.exports import actions, selecting, writing
from timelines.exports.access import check_export_is_open
from timelines.exports.files import Store
from timelines.exports.formats import EXPORT_FORMATS
from timelines.exports.writing import execute_export
from timelines.models import Authoring, Export, ExportPart, Run, StudyTimeline

pytestmark = pytest.mark.django_db(transaction=True)

CASES = ("20001", "20002", "20003")
#: Occurrences of one case: three from the text, three revised, one of the reference.
OF_CASE = 7


@dataclass
class World:
    dataset: Dataset
    run: Run
    admin: User

    def start(self, format: str = "jsonl", run: Run | None = None, **options: bool) -> Export:
        return actions.start_export(
            dataset=self.dataset,
            run=run,
            format=format,
            with_note_text=options.get("text", False),
            all_sources=options.get("all_sources", False),
            by=self.admin,
        )

    def write(self, format: str = "jsonl", run: Run | None = None, **options: bool) -> Export:
        """Start an export and write it in this process."""
        export = self.start(format, run, **options)
        assert execute_export(export.pk) == JobState.SUCCEEDED, Export.objects.get().reasons
        return Export.objects.get(pk=export.pk)


@pytest.fixture
def world(settings, tmp_path, monkeypatch) -> World:
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(selecting, "CASES_PER_PART", 1)
    dataset = factories.make_dataset(name="cohort")
    run = factories.make_run(dataset)
    for case in CASES:
        make_finished_case(run, case)
    return World(dataset, run, factories.make_user(dataset.study, Role.ADMIN))


def unzip(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def read(export: Export) -> dict[str, bytes]:
    return unzip(Store(export.public_id).archive.read_bytes())


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def fetch(client: Client, export: Export, **headers: str):
    address = reverse("timelines:export_download", args=[export.public_id])
    return client.get(address, headers=headers)


def body(response) -> bytes:
    return b"".join(response.streaming_content)


def test_lines_of_all_parts_are_one_file_with_its_facts(world):
    export = world.write()
    files = read(export)
    lines = [json.loads(line) for line in files["timelines.jsonl"].decode().splitlines()]
    assert [line["case_id"] for line in lines] == [c for c in CASES for _ in range(OF_CASE)]
    assert export.lines == len(lines) == 3 * OF_CASE
    archive = Store(export.public_id).archive
    assert export.size == archive.stat().st_size
    assert export.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
    facts = json.loads(files["export.json"])
    assert (facts["dataset"], facts["run"], facts["format"]) == ("cohort", None, "jsonl")
    assert (facts["lines"], facts["with_note_text"]) == (21, False)
    # Only the archive is left, and nobody else can read its folder.
    assert [p.name for p in Store(export.public_id).folder.iterdir()] == ["export.zip"]
    assert archive.parent.parent.stat().st_mode & 0o077 == 0
    assert [(p.number, p.lines) for p in export.parts.all()] == [(0, 7), (1, 7), (2, 7)]


def test_a_cohort_has_its_study_timeline_and_references_unless_all_is_chosen(world):
    assert world.write().all_sources, "without a study timeline"
    other = factories.make_run(world.dataset, source="other")
    for case in ("20004", "20005"):
        make_finished_case(other, case)
    StudyTimeline.objects.create(dataset=world.dataset, run=world.run)

    def find_sources(export: Export) -> set[str]:
        assert execute_export(export.pk) == JobState.SUCCEEDED
        lines = read(export)["timelines.jsonl"].decode().splitlines()
        return {json.loads(line)["source"] for line in lines}

    assert find_sources(world.start()) == {"rules", "reference"}
    assert find_sources(world.start(all_sources=True)) == {"rules", "other", "reference"}
    assert find_sources(world.start(run=other)) == {"other"}


def test_the_form_takes_a_run_or_all_sources(world):
    sent = {"dataset": world.dataset.public_id, "format": "csv", "all_sources": "on"}
    client = sign_in(world.admin)
    both = client.post(reverse("timelines:export_new"), sent | {"run": world.run.public_id})
    assert "Choose one run, or all sources and variants." in both.content.decode()
    assert client.post(reverse("timelines:export_new"), sent).status_code == 302
    assert Export.objects.get().all_sources


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_every_format_has_every_case(world, format):
    export = world.write(format, world.run if format == "prov" else None)
    files = read(export)
    names = [name for name in files if name != "export.json"]
    assert names
    assert all(name.startswith("timelines") for name in names)
    whole = b"".join(files[name] for name in names) + " ".join(names).encode()
    if format not in ("parquet", "meds"):
        assert all(case.encode() in whole for case in CASES)
    assert export.lines == {"prov": 9, "references": 3}.get(format, 21)


def test_a_table_has_one_heading(world):
    rows = list(csv.reader(io.StringIO(read(world.write("csv"))["timelines.csv"].decode())))
    assert len(rows) == 1 + 21
    assert sum(row[0] == "case_id" for row in rows) == 1
    assert "timelines.csv.schema.json" in read(world.write("csv"))


def test_tasks_are_numbered_over_all_parts(world):
    tasks = json.loads(read(world.write("label_studio"))["timelines.json"])
    assert [task["id"] for task in tasks] == list(range(1, 10))
    assert [task["annotations"][0]["id"] for task in tasks] == list(range(1, 10))
    assert tasks[0]["data"]["text"] == NOTE


def test_shards_of_meds_have_whole_subjects_and_one_table_of_splits(world, tmp_path):
    # Two stays of one person, which are not neighbours by case id.
    world.dataset.encounters.filter(case_id__in=("20001", "20003")).update(subject_key="7")
    world.dataset.encounters.filter(case_id="20002").update(subject_key="5")
    for name, content in read(world.write("meds")).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    shards = sorted((tmp_path / "timelines" / "data").iterdir())
    subjects = [set(pq.read_table(shard)["subject_id"].to_pylist()) for shard in shards]
    assert subjects == [{5}, {7}]
    splits = pq.read_table(tmp_path / "timelines" / "metadata" / "subject_splits.parquet")
    assert splits["subject_id"].to_pylist() == [5, 7]


def test_chains_have_the_rows_behind_a_revised_time(world):
    content = read(world.write("chains", world.run))["timelines.jsonl"].decode()
    lines = [json.loads(line) for line in content.splitlines()]
    drug = [x for x in lines if x["uid4"] == "0a1d" and x["kind"] == "revised"]
    assert len(drug) == 3
    assert all(x["chain"]["final"]["rows"] == [0] for x in drug)
    assert [q["text"] for q in drug[0]["chain"]["queries"]] == ["ceftriaxone start"]


def test_references_can_be_imported_again(world, tmp_path):
    files = read(world.write("references"))
    line = json.loads(files["timelines/reference/20001/reference.jsonl"])
    assert (line["mention"], line["time"], line["rows"]) == ("ceftriaxone given", 4.0, [0, 1])
    assert NOTE[line["start"] : line["end"]] == "Ceftriaxone"
    assert line["known"] in (0, 1)


def test_a_run_is_exported_alone_and_without_cases_that_it_lacks(world):
    other = factories.make_run(world.dataset, source="other")
    make_finished_case(other, "20004")
    lines = [
        json.loads(line)
        for line in read(world.write("jsonl", other))["timelines.jsonl"].decode().splitlines()
    ]
    assert {(line["case_id"], line["kind"]) for line in lines} == {
        ("20004", "text_only"),
        ("20004", "revised"),
    }


def test_without_any_timeline_the_export_fails_and_says_what_to_do(world):
    empty = factories.make_run(world.dataset, source="empty")
    export = world.start("jsonl", empty)
    assert execute_export(export.pk) == JobState.FAILED
    (reason,) = Export.objects.get(pk=export.pk).reasons
    assert "no finished timeline matches. Launch a run" in reason
    assert not Store(export.public_id).folder.exists()


def test_a_run_over_another_cohort_and_an_unknown_format_are_refused(world):
    other = factories.make_run(factories.make_dataset(world.dataset.study, "second"))
    with pytest.raises(actions.ExportRefused, match="not over this cohort"):
        world.start("jsonl", other)
    with pytest.raises(actions.ExportRefused, match="choose jsonl, chains"):
        world.start("xlsx")
    assert not Export.objects.exists()


#: Writes an export and hangs in the second part.
DOOMED = """
import sys, time
import django
django.setup()
from django.conf import settings
settings.MEDIA_ROOT = sys.argv[2]
from timelines.exports import selecting, writing

selecting.CASES_PER_PART = 1
write, parts = writing._write_part, []

def doomed(export, part, hold):
    parts.append(part)
    if len(parts) == 2:
        print("hanging", flush=True)
        time.sleep(300)
    write(export, part, hold)

writing._write_part = doomed
writing.execute_export(int(sys.argv[1]))
"""


def test_after_a_kill_another_worker_writes_the_missing_parts_alone(
    world, process_environment, settings
):
    whole = read(world.write("csv"))
    export = world.start("csv")
    command = [sys.executable, "-c", DOOMED, str(export.pk), str(settings.MEDIA_ROOT)]
    worker = subprocess.Popen(command, env=process_environment, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "hanging\n"
        os.kill(worker.pid, signal.SIGKILL)
    finally:
        worker.kill()
        worker.wait()
    expire_lease(Export.objects.get(pk=export.pk))
    first, *others = ExportPart.objects.filter(export=export)
    assert first.written_at is not None
    assert [part.written_at for part in others] == [None, None]
    assert execute_export(export.pk) == JobState.SUCCEEDED
    assert ExportPart.objects.get(pk=first.pk).written_at == first.written_at
    resumed = read(Export.objects.get(pk=export.pk))
    assert resumed["timelines.csv"] == whole["timelines.csv"]
    assert Export.objects.get(pk=export.pk).attempt == 2


def test_a_part_whose_files_are_gone_is_written_again(world, monkeypatch):
    export = world.start("jsonl")
    join = writing._join
    monkeypatch.setattr(writing, "_join", lambda export, hold: 1 / 0)
    assert execute_export(export.pk) == JobState.QUEUED
    Store(export.public_id).delete()
    monkeypatch.setattr(writing, "_join", join)
    Export.objects.update(not_before=None)
    assert execute_export(export.pk) == JobState.SUCCEEDED
    assert len(read(export)["timelines.jsonl"].splitlines()) == 21


def test_a_paused_export_waits_and_goes_on_with_the_next_part(world, monkeypatch):
    export = world.start("jsonl")
    write = writing._write_part
    written: list[int] = []

    def write_and_pause(export, part, hold):
        write(export, part, hold)
        written.append(part.number)
        if part.number == 0:
            actions.pause_export(export=export, by=world.admin)

    monkeypatch.setattr(writing, "_write_part", write_and_pause)
    assert execute_export(export.pk) == JobState.QUEUED
    assert (execute_export(export.pk), written) == (None, [0])
    assert resend_hints(registry.find_kind(Export)) == 0
    actions.resume_export(export=export, by=world.admin)
    assert execute_export(export.pk) == JobState.SUCCEEDED
    assert written == [0, 1, 2]
    assert Export.objects.get().attempt == 1
    assert [
        e.action for e in AuditEvent.objects.filter(action__startswith="export.").order_by("pk")
    ] == [
        "export.start",
        "export.pause",
        "export.resume",
    ]


def test_a_cancelled_export_stops_and_can_be_retried(world, monkeypatch):
    export = world.start("jsonl")
    actions.cancel_export(export=Export.objects.get(), by=world.admin)
    assert execute_export(export.pk) is None
    actions.retry_export(export=Export.objects.get(), by=world.admin)
    assert execute_export(export.pk) == JobState.SUCCEEDED


def test_files_expire_and_files_without_a_row_are_deleted(world, settings):
    settings.EXPORT_DAYS = 3
    old, new, orphan = world.write(), world.write(), world.write()
    Export.objects.filter(pk=old.pk).update(finished_at=timezone.now() - timedelta(days=3, hours=1))
    Export.objects.filter(pk=orphan.pk).delete()
    assert actions.delete_expired_exports() == 1
    assert [Store(e.public_id).folder.exists() for e in (old, new, orphan)] == [False, True, False]
    assert Export.objects.get(pk=old.pk).deleted_at is not None
    assert actions.delete_expired_exports() == 0
    assert fetch(sign_in(world.admin), old).status_code == 404


def test_a_person_is_notified_once_it_is_written(world):
    world.write("fhir")
    found = Notification.objects.get(recipient=world.admin)
    assert (found.kind, found.name) == ("export_finished", "cohort: FHIR R4")
    assert found.path == reverse("timelines:exports")


def test_a_download_counts_as_opening_every_case_once(world):
    export, client = world.write(), sign_in(world.admin)
    content = body(fetch(client, export))
    assert hashlib.sha256(content).hexdigest() == export.sha256
    body(fetch(client, export))
    assert AuditEvent.objects.filter(action="export.download").count() == 2
    exposed = AuditEvent.objects.filter(action="case.export", actor=world.admin)
    assert "case.export" in EXPOSING
    assert sorted(exposed.values_list("object_id", flat=True)) == sorted(
        world.dataset.encounters.values_list("public_id", flat=True)
    )


def test_a_broken_download_goes_on_where_it_ended(world):
    export, client = world.write(), sign_in(world.admin)
    whole = fetch(client, export)
    content = body(whole)
    assert (whole["Accept-Ranges"], whole["ETag"]) == ("bytes", f'"{export.sha256}"')
    assert "attachment" in whole["Content-Disposition"]
    rest = fetch(client, export, range="bytes=100-", if_range=whole["ETag"])
    assert (rest.status_code, body(rest)) == (206, content[100:])
    assert rest["Content-Range"] == f"bytes 100-{len(content) - 1}/{len(content)}"
    # Another file than the one that was begun comes whole.
    other = fetch(client, export, range="bytes=100-", if_range='"other"')
    assert (other.status_code, body(other)) == (200, content)
    assert fetch(client, export, range=f"bytes={len(content)}-").status_code == 416


def test_only_the_person_who_started_it_may_use_it(world):
    export = world.write()
    study = world.dataset.study
    for role in (Role.ADMIN, Role.CLINICIAN, Role.REVIEWER):
        client = sign_in(factories.make_user(study, role))
        assert fetch(client, export).status_code == (404 if role == Role.ADMIN else 403)
        deleted = client.post(reverse("timelines:export_action", args=[export.public_id, "delete"]))
        assert deleted.status_code == (404 if role == Role.ADMIN else 403)
    # A person who is no admin any more has no way to it either.
    world.admin.memberships.all().delete()
    assert fetch(sign_in(world.admin), export).status_code in (403, 404)


def close(monkeypatch, *cases: str) -> None:
    """Close these cases to everyone, as the page guard of a packet does."""
    monkeypatch.setattr(closing, "closed_objects", lambda user, object_type: frozenset(cases))


def test_closed_cases_are_left_out_of_an_export(world, monkeypatch):
    reviewed = world.dataset.encounters.get(case_id="20002")
    close(monkeypatch, reviewed.public_id)
    export = world.write()
    assert b"20002" not in read(export)["timelines.jsonl"]
    assert export.lines == 14
    assert fetch(sign_in(world.admin), export).status_code == 200
    assert reviewed.pk not in {pk for part in export.parts.all() for pk in part.encounters}


def test_an_export_with_a_case_that_was_closed_later_is_closed_as_a_whole(world, monkeypatch):
    export, client = world.write(), sign_in(world.admin)
    close(monkeypatch, world.dataset.encounters.get(case_id="20002").public_id)
    answer = fetch(client, export)
    assert answer.status_code == 403
    assert "cases that are closed to you" in answer.content.decode()
    assert not AuditEvent.objects.filter(action__in=("export.download", "case.export")).exists()
    page = client.get(reverse("timelines:exports")).content.decode()
    assert "Closed to you while you review or author a case of it." in page
    assert export.sha256[:12] not in page


def test_a_fellow_authors_timeline_is_closed_until_all_have_submitted(world):
    export = world.write()
    encounter = world.dataset.encounters.get(case_id="20001")
    colleague = factories.make_user(world.dataset.study, Role.CLINICIAN, username="vega")
    inventory = factories.make_inventory(encounter.notes.get())
    factories.make_timeline(
        inventory,
        {factories.make_occurrence(inventory, "Ceftriaxone", uid4="eeee"): 1.0},
        source="author:vega",
        kind=TimelineKind.REFERENCE,
    )
    factories.seal(inventory)
    for person in (colleague, world.admin):
        start_authoring(
            encounter=encounter,
            protocol=Authoring.Protocol.ASSISTED,
            by=person,
            base=encounter.timelines.get(kind="revised").public_id,
        )
    with pytest.raises(NotAllowed):
        check_export_is_open(world.admin, export)
    later = world.write()
    assert b"20001" not in read(later)["timelines.jsonl"]


def test_the_pages_start_follow_and_delete_an_export(world):
    client = sign_in(world.admin)
    new = f"{reverse('timelines:export_new')}?dataset={world.dataset.public_id}"
    form = client.get(f"{new}&run={world.run.public_id}").content.decode()
    assert f'<option value="{world.run.public_id}" selected>' in form
    chosen = {"dataset": world.dataset.public_id, "run": "", "format": "brat"}
    assert client.post(new, chosen).status_code == 302
    export = Export.objects.get()
    page = client.get(reverse("timelines:exports")).content.decode()
    assert ("Queued" in page, "hx-get" in page, "Download" in page) == (True, True, False)
    execute_export(export.pk)
    export.refresh_from_db()
    page = client.get(reverse("timelines:exports"), headers={"HX-Request": "true"})
    content = page.content.decode()
    assert ("Done" in content, "hx-get" in content, ">Download<" in content) == (True, False, True)
    assert (export.sha256[:12] in content, "<html" in content) == (True, False)
    assert (
        client.post(
            reverse("timelines:export_action", args=[export.public_id, "delete"])
        ).status_code
        == 302
    )
    assert not Store(export.public_id).folder.exists()
    assert ">Download<" not in client.get(reverse("timelines:exports")).content.decode()
    unknown = reverse("timelines:export_action", args=[export.public_id, "burn"])
    assert client.post(unknown).status_code == 404


def test_the_form_refuses_a_run_over_another_cohort(world):
    other = factories.make_run(factories.make_dataset(world.dataset.study, "second"))
    chosen = {"dataset": world.dataset.public_id, "run": other.public_id, "format": "brat"}
    answer = sign_in(world.admin).post(reverse("timelines:export_new"), chosen)
    assert "This run is over second." in answer.content.decode()
    assert not Export.objects.exists()
