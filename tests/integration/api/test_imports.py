"""Imports, deletions, exports and webhooks by the API."""

from __future__ import annotations

import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent, Role, Study, User
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
    api: ApiClient, *files: tuple[str, bytes], query: str = "", key: str = "", **fields: str
) -> tuple[int, Any]:
    sent = [SimpleUploadedFile(name, content) for name, content in files]
    headers = {**api.headers, **({"Idempotency-Key": key} if key else {})}
    response = api.client.post(f"/api/imports/{query}", {"files": sent, **fields}, headers=headers)
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


def test_files_that_are_sent_again_with_their_key_are_brought_once(api):
    first = bring(api, (NOTE, b"Fell at home."), key="one")
    assert first[0] == 201
    assert bring(api, (NOTE, b"Fell at home."), key="one") == first
    # The same contents under another name, other contents and other fields are another request.
    for files, fields in (
        ((NOTE, b"Fell at work."), {}),
        (("2__2150-01-01T08-00__ed note.txt", b"Fell at home."), {}),
        ((NOTE, b"Fell at home."), {"paths": json.dumps([f"a/{NOTE}"])}),
    ):
        status, refused = bring(api, files, key="one", **fields)
        assert (status, refused["code"]) == (409, "key_reused")
    assert Upload.objects.count() == ImportJob.objects.count() == 1
    assert [p.name for p in storage.uploads_folder().rglob("*") if p.is_file()] == [NOTE]
    # A refused request can be mended under its key.
    assert bring(api, key="two")[0] == 422
    assert bring(api, (NOTE, b"Fell at home."), key="two")[0] == 201


def test_two_at_once_with_one_key_bring_files_once(api):
    def send(_: int) -> tuple[int, Any]:
        try:
            client = ApiClient.__new__(ApiClient)
            client.headers, client.client = api.headers, Client()
            return bring(client, (NOTE, b"Fell at home."), key="one")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(send, range(4)))
    assert [status for status, _ in answers] == [201] * 4
    assert len({found["id"] for _, found in answers}) == 1
    assert Upload.objects.count() == 1
    assert len([p for p in storage.uploads_folder().rglob("*") if p.is_file()]) == 1


def test_saved_mappings_are_listed_saved_and_chosen(api, study):
    pattern = {"pattern": "{case}_{time}"}
    status, saved = api.post("imports/mappings/", format="text", name="ours", mapping=pattern)
    assert (status, saved["mapping"], saved["study"]) == (201, pattern, study.public_id)
    assert api.get(f"imports/mappings/{saved['id']}/") == (200, saved)
    codes = {"codes": [{"pattern": "X*", "event": "lab:{1}:", "kind": "result"}]}
    status, other = api.post("imports/mappings/", format="meds", name="ours", mapping=codes)
    assert (status, other["mapping"]) == (201, codes)
    assert [m["id"] for m in api.get("imports/mappings/", format="meds")[1]["results"]] == [
        other["id"]
    ]
    assert api.get("imports/mappings/")[1]["count"] == 2
    # The same name again replaces it.
    changed = {"pattern": "{case}.{time}"}
    status, again = api.post("imports/mappings/", format="text", name="ours", mapping=changed)
    assert (status, again["id"], again["mapping"]) == (201, saved["id"], changed)
    for body, expected in (
        ({"format": "omop", "name": "x", "mapping": {}}, 400),
        ({"format": "text", "name": "x", "mapping": {"pattern": "{x}"}}, 422),
        ({"format": "text", "name": "x", "mapping": codes}, 422),
        ({"format": "text", "name": "x"}, 400),
    ):
        assert api.post("imports/mappings/", **body)[0] == expected, body
    check_choice(api, study, saved["id"])


def check_choice(api: ApiClient, study: Study, mapping: int) -> None:
    """Check and import with a mapping that was saved."""
    path = f"imports/{bring(api, ('1.20500101.txt', b'Fell.'))[1]['id']}/"
    work()
    status, refused = api.post(f"{path}check/", saved="theirs")
    assert (status, list(refused["fields"])) == (400, ["saved"])
    assert api.post(f"{path}check/", saved="ours", mapping={})[0] == 400
    status, found = api.post(f"{path}check/", saved="ours")
    assert (status, found["mapping"]) == (201, {"pattern": "{case}.{time}"})
    work()
    assert api.post(f"{path}start/", name="notes", saved="ours")[0] == 201
    assert ImportJob.objects.latest("pk").mapping == {"pattern": "{case}.{time}"}
    stranger = ApiClient(factories.make_user(factories.make_study("other"), Role.ADMIN))
    assert stranger.get(f"imports/mappings/{mapping}/")[0] == 404
    assert stranger.get("imports/mappings/")[1]["count"] == 0
    clinician = ApiClient(factories.make_user(study, Role.CLINICIAN))
    assert clinician.get(f"imports/mappings/{mapping}/")[0] == 403


def test_lists_of_imports_ask_as_often_for_many_as_for_one(api, study):
    admin = User.objects.get(memberships__study=study, memberships__role=Role.ADMIN)
    web = Client()
    web.force_login(admin)
    asked = []
    for _ in range(2):
        for number in range(3):
            bring(api, (f"{number}__2150-01-01T08-00__ed note.txt", b"Fell."))
        with CaptureQueriesContext(connection) as page:
            assert web.get("/imports/").status_code == 200
        with CaptureQueriesContext(connection) as listed:
            assert api.get("imports/")[0] == 200
        asked.append((len(page), len(listed)))
    assert asked[0] == asked[1]


def test_changed_stays_are_replaced_when_asked(api):
    def start(text: bytes, **how: Any) -> dict[str, Any]:
        path = f"imports/{bring(api, (NOTE, text))[1]['id']}/"
        work()
        assert api.post(f"{path}start/", name="notes", **how)[0] == 201
        work()
        return dict(api.get(path)[1])

    start(b"Fell at home.")
    before = Encounter.objects.get().pk
    refused = start(b"Fell at work.")
    assert refused["job"]["counts"]["refused"] == 1
    assert "other content" in refused["faults"][0]["reason"]
    assert Encounter.objects.get().pk == before
    replaced = start(b"Fell at work.", replace=True)
    assert (replaced["job"]["counts"]["imported"], replaced["faults"]) == (1, [])
    assert Encounter.objects.get().notes.get().text == "Fell at work."


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
