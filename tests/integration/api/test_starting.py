"""Starting, steering and editing, once however often it is sent."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from accounts.models import AuditEvent, Role, StoredAnswer
from ehr.models import Dataset, Note
from jobs.models import JobState
from tests import factories
from tests.support.api import ApiClient
from timelines.domain import TimelineKind
from timelines.models import Evaluation, Run

pytestmark = pytest.mark.django_db(transaction=True)
KEY = {"Idempotency-Key": "nightly-1"}


@pytest.fixture
def dataset() -> Dataset:
    encounter = factories.make_encounter(factories.make_dataset(), case_id="1")
    factories.make_note(encounter, "Fell at home.")
    return encounter.dataset


@pytest.fixture
def api(dataset: Dataset) -> ApiClient:
    return ApiClient(factories.make_user(dataset.study, Role.ADMIN))


def start(api: ApiClient, dataset: Dataset, headers: Any = KEY, **body: Any) -> tuple[int, Any]:
    sent = json.dumps({"dataset": dataset.public_id, **body})
    return api.send("post", "runs/", sent, headers)


def test_a_run_is_started_followed_and_steered(api, dataset):
    choices = api.get("runs/choices/")[1]
    assert [d["id"] for d in choices["datasets"]] == [dataset.public_id]
    assert {"rules", "prompted"} <= set(choices["backbones"])
    status, run = start(api, dataset, {}, label="nightly", settings={"seed": 7}, variant="unimodal")
    assert (status, run["label"], run["active"]) == (201, "nightly", True)
    assert (run["config"]["seed"], run["variant"]) == (7, "unimodal")
    assert (run["cases"], run["percent"]) == ({"waiting": 1}, 0)
    path = f"runs/{run['id']}/"
    assert [line["id"] for line in api.get("runs/")[1]["results"]] == [run["id"]]
    assert api.post(f"{path}actions/pause/")[1]["paused"] is True
    assert api.post(f"{path}actions/pause/")[1]["state_words"] == "Paused"
    assert api.post(f"{path}actions/resume/")[1]["paused"] is False
    assert api.post(f"{path}actions/cancel/")[1]["state"] == "cancelled"
    assert api.post(f"{path}actions/delete/")[0] == 404
    assert api.post(f"{path}study-timeline/", reason="better")[0] == 422


def test_kinds_of_notes_that_no_case_has_are_refused_with_those_it_has(api, dataset):
    later = factories.make_note(dataset.encounters.get(), "Slept well.")
    Note.objects.filter(pk=later.pk).update(kind="progress note")
    known = "Choose from: all, discharge summary, progress note"
    for notes in ("nonsense kind", "progress note,nonsense kind", ","):
        status, answer = start(api, dataset, {}, settings={"notes": notes})
        assert status == 422
        assert known in json.dumps(answer), notes
    other = factories.make_encounter(dataset, case_id="2")
    factories.make_note(other, "Went home.")
    wanted = {"notes": "progress note"}
    assert start(api, dataset, {}, settings=wanted, cases=["2"])[0] == 422
    assert not Run.objects.exists()
    assert start(api, dataset, {}, settings=wanted, cases=["1"])[0] == 201
    assert start(api, dataset, {}, settings={"notes": "discharge summary"})[0] == 201


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"variant": "best"}, 400, "variant"),
        ({"backbone": "magic"}, 400, "backbone"),
        ({"settings": {"speed": 9}}, 400, "settings"),
        ({"settings": {"seed": [1]}}, 400, "settings"),
        ({"settings": {"seed": "soon"}}, 400, "set_seed"),
        ({"cases": ["2"]}, 400, "cases"),
        ({"based_on": "zzzzzzzzzzzz"}, 400, "based_on"),
        ({"model": "none of them"}, 400, "model"),
        ({"settings": {"min_queries": 9, "max_queries": 1}}, 400, "settings"),
    ],
)
def test_what_cannot_be_started_is_refused_by_field(api, dataset, body, status, field):
    answer = start(api, dataset, {}, **body)
    assert (answer[0], list(answer[1]["fields"])) == (status, [field])
    assert not Run.objects.exists()


def test_a_dataset_without_a_note_is_refused_with_the_reason(api, dataset):
    empty = factories.make_dataset(dataset.study)
    status, answer = start(api, empty, {})
    assert (status, answer["code"]) == (422, "refused")
    assert "note" in answer["detail"]


def test_cases_of_a_run_are_listed_and_retried(api, dataset):
    run = factories.make_run(dataset)
    case_run = factories.make_case_run(run, dataset.encounters.get())
    case_run.stages.create(stage="tag", state=JobState.FAILED, reasons=["first", "made up"])
    path = f"runs/{run.public_id}/cases/"
    (line,) = api.get(path, state="failed")[1]["results"]
    assert line["troubles"] == [
        {"stage": "Tag occurrences", "failed": True, "attempts": 0, "reasons": ["first", "made up"]}
    ]
    assert line["stages"][0]["state"] == "failed"
    assert api.get(path, state="done")[1]["results"] == []
    assert api.get(path, state="lost")[0] == 400
    assert api.post(f"{path}{line['id']}/retry/")[0] == 204
    status, answer = api.post(f"{path}{line['id']}/retry/")
    assert (status, answer["code"]) == (409, "not_now")


def test_the_same_key_starts_nothing_twice(api, dataset):
    first = api.ask("post", "runs/", json.dumps({"dataset": dataset.public_id}), KEY)
    again = api.ask("post", "runs/", json.dumps({"dataset": dataset.public_id}), KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert Run.objects.count() == 1
    status, answer = start(api, dataset, label="another")
    assert (status, answer["code"]) == (409, "key_reused")
    assert start(api, dataset, {"Idempotency-Key": "nightly-2"})[0] == 201
    assert Run.objects.count() == 2


def test_a_key_is_one_persons_for_one_day(api, dataset):
    start(api, dataset)
    other = ApiClient(factories.make_user(dataset.study, Role.ADMIN))
    assert start(other, dataset)[0] == 201
    assert Run.objects.count() == 2
    past = timezone.now() - timedelta(days=1, minutes=1)
    StoredAnswer.objects.update(created_at=past)
    start(api, dataset)
    assert Run.objects.count() == 3
    assert StoredAnswer.objects.count() == 2


def test_a_refused_request_may_be_mended_under_its_key(api, dataset):
    assert start(api, dataset, cases=["2"])[0] == 400
    assert not StoredAnswer.objects.exists()
    assert start(api, dataset, cases=["1"])[0] == 201
    for key in ("", "a b", "x" * 101, "ß"):
        assert start(api, dataset, {"Idempotency-Key": key})[0] == 400


def test_simultaneous_requests_with_one_key_start_one_run(api, dataset):
    answers: list[tuple[int, Any]] = []
    headers = api.headers

    def send() -> None:
        client = ApiClient.__new__(ApiClient)
        client.headers, client.client = headers, type(api.client)()
        answers.append(start(client, dataset))
        connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [status for status, _ in answers] == [201] * 4
    assert len({run["id"] for _, run in answers}) == 1
    assert Run.objects.count() == 1


def test_nobody_overwrites_a_label_that_was_changed_meanwhile(api, dataset):
    path = f"runs/{factories.make_run(dataset, label='first').public_id}/"
    assert api.send("patch", path, '{"label": "mine"}')[0] == 428
    read = api.ask("get", path)["ETag"]
    assert api.edit("patch", path, path, label="theirs")[1]["label"] == "theirs"
    status, answer = api.send("patch", path, '{"label": "mine"}', {"If-Match": read})
    assert (status, answer["code"]) == (412, "changed")
    assert api.get(path)[1]["label"] == "theirs"
    assert api.send("patch", path, '{"label": "mine"}', {"If-Match": "*"})[0] == 200
    assert api.edit("patch", path, path, label="x" * 181)[0] == 400
    assert AuditEvent.objects.filter(action="run.rename").count() == 2


def test_an_evaluation_is_started_read_and_cancelled(api, dataset):
    encounter = dataset.encounters.get()
    inventory = factories.make_inventory(encounter.notes.get())
    fell = factories.make_occurrence(inventory, "Fell")
    factories.make_timeline(inventory, {fell: 1.0}, kind=TimelineKind.REFERENCE)
    factories.seal(inventory)
    factories.make_bare_timeline(encounter, {"Fell": 2.0}, source="other")
    choices = api.get("evaluations/choices/")[1]
    assert (choices["references"], choices["sources"]) == (["reference"], ["other"])
    body = {"datasets": [dataset.public_id], "reference": "reference", "bases": ["levenshtein"]}
    sent = json.dumps({**body, "rho_sweep": [0.1, 0], "resamples": 10})
    status, made = api.send("post", "evaluations/", sent, KEY)
    assert (status, made["state"], made["tables"]) == (201, "queued", [])
    assert made["settings"]["rho_sweep"] == [0.0, 0.1]
    assert api.send("post", "evaluations/", sent, KEY)[1] == made
    assert Evaluation.objects.count() == 1
    path = f"evaluations/{made['id']}/"
    assert api.get("evaluations/")[1]["results"][0]["id"] == made["id"]
    assert api.get(path)[1]["basis"] is None
    assert api.get(f"{path}tables/main/csv/")[0] == 404
    assert api.post(f"{path}actions/cancel/")[1]["state"] == "cancelled"
    assert api.post(f"{path}actions/cancel/")[0] == 409
    assert api.post(f"{path}actions/retry/")[1]["state"] == "queued"
    wrong = {**body, "reference": "boris"}
    assert list(api.post("evaluations/", **wrong)[1]["fields"]) == ["reference"]
    further = {**body, "further_references": ["boris"]}
    assert list(api.post("evaluations/", **further)[1]["fields"]) == ["further_references"]
