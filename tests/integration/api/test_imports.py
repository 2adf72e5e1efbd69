"""Imports, deletions, exports and webhooks by the API."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEvent, Role, Study
from ehr.models import Dataset, Encounter, ImportJob, Upload
from ehr.removal.execution import execute_deletion
from ehr.uploads import storage
from ehr.uploads.execution import execute_import
from jobs.models import Webhook
from tests import factories
from tests.support.api import ApiClient

pytestmark = pytest.mark.django_db(transaction=True)
NOTE = "1__2150-01-01T08-00__ed note.txt"


@pytest.fixture
def study(settings: Any, tmp_path: Any) -> Study:
    settings.MEDIA_ROOT = tmp_path / "files"
    return factories.make_study("imports")


@pytest.fixture
def api(study: Study) -> ApiClient:
    return ApiClient(factories.make_user(study, Role.ADMIN))


def bring(
    api: ApiClient, *files: tuple[str, bytes], query: str = "", **fields: str
) -> tuple[int, Any]:
    sent = [SimpleUploadedFile(name, content) for name, content in files]
    response = api.client.post(
        f"/api/imports/{query}", {"files": sent, **fields}, headers=api.headers
    )
    return response.status_code, response.json()


def pack(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def work() -> None:
    for job in ImportJob.objects.filter(state="queued"):
        execute_import(job.pk)


def test_notes_are_brought_checked_imported_and_deleted(api, study):
    status, found = bring(api, (NOTE, b"Fell at home."))
    assert (status, found["format"], found["files"]) == (201, "text", 1)
    assert (found["job"]["task"], found["job"]["active"], found["preview"]) == ("check", True, None)
    path = f"imports/{found['id']}/"
    assert api.post(f"{path}start/", name="notes")[0] == 422, "the check goes on"
    work()
    checked = api.get(path)[1]
    assert checked["job"]["counts"]["stays"] == 1
    assert [stay["case_id"] for stay in checked["preview"]["first"]] == ["1"]
    assert checked["faults"] == []
    assert api.get(f"{path}faults/")[1].splitlines() == ["file,line,field,case_id,reason"]
    sent, key = json.dumps({"name": "notes"}), {"Idempotency-Key": "one"}
    first = api.send("post", f"{path}start/", sent, key)
    assert first[0] == 201
    assert api.send("post", f"{path}start/", sent, key) == first
    work()
    done = api.get("imports/")[1]["results"][0]
    assert (done["job"]["state"], done["job"]["counts"]["imported"]) == ("succeeded", 1)
    dataset = done["job"]["dataset"]
    assert Encounter.objects.get(dataset__public_id=dataset).notes.get().text == "Fell at home."
    assert api.post(f"{path}actions/pause/")[0] == 200
    assert api.post(f"{path}actions/cancel/")[0] == 409
    assert api.post(f"{path}actions/remove/")[1]["removed_at"] is not None
    check_deletion(api, dataset)


def check_deletion(api: ApiClient, dataset: str) -> None:
    path = f"datasets/{dataset}/deletion/"
    listed = api.get(path)[1]
    assert {"count": 1, "name": "stays"} in listed["losses"]
    status, refused = api.post(path, confirmed="other")
    assert (status, refused["code"]) == (422, "refused")
    status, started = api.post(path, confirmed="notes")
    assert (status, started["job"]["state"]) == (201, "queued")
    assert api.post(f"{path}actions/cancel/")[1]["job"]["state"] == "cancelled"
    assert api.post(f"{path}actions/retry/")[1]["job"]["state"] == "queued"
    execute_deletion(Dataset.objects.get().deletions.get().pk)
    assert not Dataset.objects.exists()
    assert api.get(path)[1]["job"]["state"] == "succeeded"
    assert AuditEvent.objects.filter(action="dataset.delete_start").count() == 1


@pytest.mark.parametrize(
    ("name", "content", "fields", "words"),
    [
        ("bomb.zip", pack("a.csv", b"0" * 30_000_000), {}, "times as large"),
        ("out.zip", pack("../a.csv", b"0"), {}, "a.csv"),
        ("half.zip", pack("a.csv", b"abc" * 99)[:60], {}, "damaged"),
        ("a.txt", b"Fell.", {"paths": "[["}, "names of the files"),
        ("a.txt", b"Fell.", {"paths": '["../a.txt"]'}, "a.txt"),
        ("a.txt", b"Fell.", {"paths": "[]["}, "names of the files"),
    ],
)
def test_harmful_files_are_refused_with_a_sentence(api, name, content, fields, words):
    status, refused = bring(api, (name, content), **fields)
    assert (status, refused["code"]) == (422, "refused")
    assert words in refused["detail"]
    assert not Upload.objects.exists()
    assert [p for p in storage.uploads_folder().rglob("*") if p.is_file()] == []


def test_too_large_uploads_and_unknown_folders_are_refused(api, settings):
    settings.UPLOAD_BYTES = 10
    status, refused = bring(api, (NOTE, b"Fell at home, and was found."))
    assert (status, "UPLOAD_BYTES" in refused["detail"]) == (422, True)
    status, refused = api.post("imports/", folder="/etc")
    assert (status, refused["code"]) == (422, "refused")
    assert api.post("imports/")[1]["fields"] == {"folder": ["This field is required."]}
    assert not Upload.objects.exists()


def test_an_allowed_folder_is_read_in_place(api, settings, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / NOTE).write_text("Fell at home.")
    settings.IMPORT_FOLDERS = [str(tmp_path / "data")]
    status, found = api.post("imports/", folder="data")
    assert (status, found["format"], found["title"]) == (201, "text", "data")
    work()
    path = f"imports/{found['id']}/"
    for body in ({"format": "other"}, {"mapping": {"codes": 7}}, {"mapping": {"pattern": "{x}"}}):
        status, refused = api.post(f"{path}check/", **body)
        assert (status, refused["code"]) == (422, "refused"), body


def test_only_admins_of_the_study_send_files(study, api):
    clinician = ApiClient(factories.make_user(study, Role.CLINICIAN))
    assert bring(clinician, (NOTE, b"Fell at home."))[0] == 403
    other = factories.make_study("other")
    assert bring(api, (NOTE, b"Fell."), query=f"?study={other.public_id}")[0] == 404
    assert not storage.uploads_folder().exists()
    found = bring(api, (NOTE, b"Fell."))[1]
    stranger = ApiClient(factories.make_user(other, Role.ADMIN))
    assert stranger.get(f"imports/{found['id']}/")[0] == 404
    assert stranger.get("imports/")[1]["count"] == 0


def test_webhooks_are_added_tested_and_removed(api, study):
    status, made = api.post("webhooks/", url="https://93.184.216.34/hook")
    assert (status, len(made["secret"])) == (201, 64)
    assert api.post("webhooks/", url="https://127.0.0.1/")[0] == 422
    (listed,) = api.get("webhooks/")[1]["results"]
    assert (listed["id"], "secret" in listed) == (made["id"], False)
    path = f"webhooks/{made['id']}/"
    assert api.post(f"{path}test/")[1]["state"] == "queued"
    (sent,) = api.get(f"{path}deliveries/")[1]["results"]
    assert (sent["object_id"], sent["status"]) == (made["id"], None)
    assert api.delete(path)[0] == 204
    assert not Webhook.objects.exists()


def test_exports_are_started_by_dataset_and_belong_to_their_person(api, study):
    dataset = factories.make_encounter(factories.make_dataset(study=study)).dataset
    for body, status in (
        ({}, 400),
        ({"dataset": dataset.public_id, "format": "other"}, 400),
        ({"dataset": "z" * 12}, 404),
        ({"run": "z" * 12}, 404),
    ):
        assert api.post("exports/", **body)[0] == status, body
    status, made = api.post("exports/", dataset=dataset.public_id, format="meds")
    assert (status, made["state"], made["downloadable"]) == (201, "queued", False)
    path = f"exports/{made['id']}/"
    assert api.get(f"{path}download/")[0] == 404
    assert api.post(f"{path}actions/pause/")[1]["paused"] is True
    assert api.post(f"{path}actions/cancel/")[1]["state"] == "cancelled"
    colleague = ApiClient(factories.make_user(study, Role.ADMIN))
    assert colleague.get(path)[0] == 404
    assert colleague.get("exports/")[1]["count"] == 0
