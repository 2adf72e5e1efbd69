"""Windows and their results in the API."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.actions import add_role
from accounts.models import AuditEvent, Role
from cohorts.models import WindowResult
from cohorts.windows.evaluating import evaluate_both, store_members
from jobs.models import JobState
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.authoring.actions import start_authoring
from timelines.curation.corrections import Corrected, correct
from timelines.models import Authoring, Occurrence, Timeline

pytestmark = pytest.mark.django_db
YAML = """
name: Drug within 6 h
anchor: admission
where:
  - event: drug given
    within: 0 h to 6 h after anchor
"""
ANCHORED = YAML.replace("anchor: admission", "anchor: drug given")


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def person(run):
    return factories.make_user(run.study, Role.CLINICIAN)


@pytest.fixture
def api(person):
    return ApiClient(person)


@pytest.fixture
def stays(run):
    """By the note and with the record: yes then no, uncertain, no drug at all."""
    drug, bounds = "drug was given", {"note_bounds": (0.0, 8.0), "record_bounds": (0.0, 8.0)}
    return [
        make_stay(run, [Event(drug, 4.0, 9.0, rows=(0,))], [Row("med:drug", 9.0, "1")]),
        make_stay(run, [Event(drug, 4.0, 4.0, **bounds)]),
        make_stay(run, [Event("fever began", 4.0, 4.0)]),
    ]


@pytest.fixture
def window(api, run, stays):
    make_concept(run.study, "drug given", mentions=["drug was given"], series=["med:drug"])
    status, made = api.post("windows/", yaml=YAML)
    assert status == 201
    return made


def evaluate(api, run, window, **sources):
    path = f"windows/{window['id']}/results/"
    status, made = api.post(path, dataset=run.dataset.public_id, **sources)
    assert (status, made["state"]) == (201, "queued")
    complete(made["id"])
    return made["id"]


def complete(public_id):
    """Do what the job does, inside the test's transaction."""
    made = WindowResult.objects.get(public_id=public_id)
    store_members(made, *evaluate_both(made))
    ended = {"state": JobState.SUCCEEDED, "finished_at": timezone.now()}
    WindowResult.objects.filter(pk=made.pk).update(**ended)


def test_a_window_keeps_its_versions(api, run, window):
    assert (window["name"], window["version"]) == ("Drug within 6 h", 1)
    (version,) = window["versions"]
    assert version["concepts"][0]["name"] == "drug given"
    assert "drug given" in version["words"]
    one = f"windows/{window['id']}/"
    assert api.post(f"{one}versions/", yaml=YAML)[1]["number"] == 1
    assert api.post(f"{one}versions/", yaml=YAML.replace("6 h", "5 h"))[1]["number"] == 2
    _, shown = api.get(one)
    assert [v["number"] for v in shown["versions"]] == [2, 1]
    assert api.get("windows/")[1]["results"][0]["version"] == 2
    for yaml, word in ((YAML.replace("drug given", "x"), "no concept"), ("- [", "line")):
        status, refused = api.post("windows/", yaml=yaml)
        assert (status, refused["code"]) == (422, "refused")
        assert word in refused["detail"].lower()


def test_a_result_counts_and_shows_what_decides(api, run, window, stays, person):
    result = evaluate(api, run, window)
    _, shown = api.get(f"window-results/{result}/")
    assert (shown["state"], shown["yes"]) == ("succeeded", {"first": 1, "second": 0})
    counts = {cell["show"]: cell["count"] for cell in shown["cells"] if cell["count"]}
    assert counts == {"yes.no": 1, "uncertain.uncertain": 1, "no.no": 1}
    assert (shown["before"], shown["changes"], shown["given_up"]) == (None, [], 0)
    _, page = api.get(f"window-results/{result}/members/", show="changed")
    (changed,) = page["results"]
    assert (changed["case"], changed["changed"]) == (stays[0].public_id, True)
    (by_note,), (by_record,) = changed["first"]["evidence"], changed["second"]["evidence"]
    assert by_note["sentence"] == "drug was given."
    assert (by_note["hours"], by_note["row"], by_note["gone"]) == (4.0, None, False)
    assert by_record["hours"] == 9.0
    assert by_record["row"] == {"row_index": 0, "event": "med:drug", "value": "1", "hours": 9.0}
    assert by_record["uid"] == Occurrence.objects.get(inventory__encounter=stays[0]).uid4
    seen = AuditEvent.objects.filter(action="cohort.case", actor=person)
    assert [event.object_id for event in seen] == [stays[0].public_id]
    _, page = api.get(f"window-results/{result}/members/", limit=1, offset=1)
    (open_stay,) = page["results"]
    assert (page["count"], open_stay["second"]["member"]) == (3, "uncertain")
    # Between 0 and 8 h, 6 of 8 hours are inside.
    assert open_stay["second"]["share"] == pytest.approx(0.75, abs=0.01)
    _, listed = api.get(f"windows/{window['id']}/results/")
    assert [one["id"] for one in listed["results"]] == [result]


def test_a_person_answers_and_the_file_says_so(api, run, window, stays):
    result = evaluate(api, run, window)
    path = f"window-results/{result}/"
    (member,) = api.get(f"{path}members/", show="uncertain.uncertain")[1]["results"]
    answer = f"{path}members/{member['number']}/answer/"
    status, found = api.post(answer, member="yes", reason="=seen")
    assert (status, found["answer"]["member"]) == (200, "yes")
    assert api.post(answer, member="perhaps", reason="x")[0] == 400
    text = api.get(f"{path}csv/")[1]
    rows = {row["case"]: row for row in csv.DictReader(io.StringIO(text))}
    assert {case: row["member"] for case, row in rows.items()} == {
        stays[0].case_id: "no",
        stays[1].case_id: "yes",
        stays[2].case_id: "no",
    }
    assert rows[stays[1].case_id]["answer_reason"] == "'=seen"
    assert AuditEvent.objects.filter(action="window.download").count() == 1
    assert api.post(answer, member="", reason="mistaken")[1]["answer"] is None
    assert api.post(answer, member="", reason="again")[0] == 422


def test_an_update_follows_a_correction(api, run, window, stays, person):
    first = evaluate(api, run, window, second="curated")
    correct(
        base=Timeline.objects.get(encounter=stays[1], kind="revised"),
        occurrence=Occurrence.objects.get(inventory__note__encounter=stays[1]),
        what=Corrected("2 h", reason="seen"),
        by=person,
    )
    assert api.get(f"window-results/{first}/")[1]["changes"] == [
        "People have corrected times since."
    ]
    _, made = api.post(f"window-results/{first}/update/")
    complete(made["id"])
    _, shown = api.get(f"window-results/{made['id']}/")
    assert (shown["before"], shown["since"], shown["yes"]["second"]) == (first, 1, 1)
    (member,) = api.get(f"window-results/{made['id']}/members/", show="since")[1]["results"]
    assert member["was"] == "uncertain / uncertain"


def test_a_result_is_cancelled_and_retried(api, run, window):
    body = {"dataset": run.dataset.public_id, "first": "note"}
    path = f"windows/{window['id']}/results/"
    assert api.post(path, **body, second="note")[0] == 422
    assert api.post(path, dataset="a" * 12)[0] == 404
    key = {"Idempotency-Key": "k"}
    made = api.ask("post", path, json.dumps(body), key).json()
    assert api.ask("post", path, json.dumps(body), key).json() == made
    assert WindowResult.objects.count() == 1
    one = f"window-results/{made['id']}/actions/"
    assert api.post(f"{one}retry/")[0] == 409
    assert api.post(f"{one}cancel/")[1]["state"] == "cancelled"
    assert api.post(f"{one}retry/")[1]["state"] == "queued"
    assert api.get(f"window-results/{made['id']}/members/")[1]["results"] == []


def test_a_task_of_aces_goes_out_and_in(api, run, window):
    one = f"windows/{window['id']}/"
    status, refused = api.get(f"{one}aces/")
    assert (status, "Anchor the window" in refused["detail"]) == (422, True)
    api.post(f"{one}versions/", yaml=ANCHORED)
    status, task = api.get(f"{one}aces/")
    assert (status, "trigger:" in task) == (200, True)
    status, read = api.post("windows/aces/", task=task, name="Again")
    assert (status, "name: Again" in read["yaml"]) == (200, True)
    assert api.post("windows/", yaml=read["yaml"])[0] == 201
    assert api.post("windows/aces/", task="x: 1")[0] == 422


def test_closed_cases_are_in_no_count_no_list_and_no_file(api, run, window, stays, person):
    result = evaluate(api, run, window)
    (member,) = api.get(f"window-results/{result}/members/", show="yes.no")[1]["results"]
    start_authoring(encounter=stays[0], protocol=Authoring.Protocol.UNAIDED, by=person)
    path = f"window-results/{result}/"
    _, shown = api.get(path)
    assert shown["yes"] == {"first": 0, "second": 0}
    assert sum(cell["count"] for cell in shown["cells"]) == 2
    _, page = api.get(f"{path}members/")
    assert [one["case"] for one in page["results"]] == [stays[1].public_id, stays[2].public_id]
    rows = csv.DictReader(io.StringIO(api.get(f"{path}csv/")[1]))
    assert [row["case"] for row in rows] == [stays[1].case_id, stays[2].case_id]
    answer = api.post(f"{path}members/{member['number']}/answer/", member="yes", reason="x")
    assert answer[0] == 403


def test_queries_do_not_grow_with_members_and_versions(api, run, window):
    result = evaluate(api, run, window)
    one = f"windows/{window['id']}/"

    def count(path, **query):
        with CaptureQueriesContext(connection) as queries:
            assert api.get(path, **query)[0] == 200
        return len(queries)

    members = f"window-results/{result}/members/"
    assert count(members, limit=1, show="yes.no") >= count(members)
    before = count(one)
    for hours in (3, 4, 5):
        api.post(f"{one}versions/", yaml=YAML.replace("6 h", f"{hours} h"))
    assert count(one) == before


def test_another_study_finds_nothing(api, run, window):
    result = evaluate(api, run, window)
    other = ApiClient(factories.make_user(factories.make_study(), Role.ADMIN))
    assert other.get("windows/")[1]["results"] == []
    for path in (f"windows/{window['id']}/", f"window-results/{result}/members/"):
        assert other.get(path)[0] == 404
    theirs = factories.make_dataset()
    assert api.post(f"windows/{window['id']}/results/", dataset=theirs.public_id)[0] == 404


def test_who_has_several_studies_names_one(api, run, window, person):
    other = factories.make_study()
    add_role(study=other, user=person, role=Role.CLINICIAN, by=None)
    status, refused = api.post("windows/", yaml=YAML)
    assert (status, list(refused["fields"])) == (400, ["study"])
    # The concepts are those of the study that is named.
    status, refused = api.post("windows/", yaml=YAML, study=other.public_id)
    assert (status, refused["code"]) == (422, "refused")
    assert api.get("windows/", study=other.public_id)[1]["results"] == []
    assert api.get("windows/")[1]["count"] == 1
