"""What was known at an hour, in the API: stays, reports, checks."""

from __future__ import annotations

import csv
import io

import pytest

from accounts.models import AuditEvent, Role
from cohorts.asof.counting import count_states, find_asked_timelines
from cohorts.asof.jobs import _check_file, question_of
from cohorts.models import AsOfReport, LeakageCheck
from jobs.models import JobState
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.authoring.actions import start_authoring
from timelines.models import Authoring, Export

pytestmark = pytest.mark.django_db
GIVEN = Event("Andexanet was given", 4.0, 7.5, rows=(0,))
FELL = Event("Fell at home", -2.0, -2.0)
SPREAD = Event("Cough began", 10.0, 10.0, record_bounds=(0.0, 84.0))
ROWS = [Row("med:andexanet:administration", 7.5, "400")]


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def stay(run):
    return make_stay(run, [GIVEN, FELL, SPREAD], ROWS)


@pytest.fixture
def person(run):
    return factories.make_user(run.study, Role.ADMIN, Role.CLINICIAN)


@pytest.fixture
def api(person):
    return ApiClient(person)


class NoHold:
    """A job's lease that nobody takes away."""

    def report(self, **progress: object) -> None:
        """Say nothing."""


def complete(model, public_id):
    """Do what the job does, inside the test's transaction."""
    job = model.objects.get(public_id=public_id)
    if model is LeakageCheck and job.features:
        found = _check_file(job, NoHold())
    else:
        concepts = list(job.concepts.all()) if model is AsOfReport else []
        question = question_of(job)
        found = count_states(question, find_asked_timelines(question), concepts)
    model.objects.filter(pk=job.pk).update(report=found, state=JobState.SUCCEEDED)


def start_report(api, run, **body):
    status, made = api.post("as-of/", dataset=run.dataset.public_id, **body)
    assert (status, made["state"], made["groups"]) == (201, "queued", [])
    complete(AsOfReport, made["id"])
    return f"as-of/{made['id']}/"


def test_a_stay_as_it_was_known(api, run, stay, person):
    path = f"cases/{stay.public_id}/as-of/"
    _, found = api.get(path, h="8")
    # The dose is charted at 7.5 h; the fall is written at discharge; the cough may be later.
    assert {one["mention"]: one["known"] for one in found["occurrences"]} == {
        "Andexanet was given": "known",
        "Fell at home": "later",
        "Cough began": "uncertain",
    }
    assert found["counts"] == {"known": 1, "later": 1, "not_yet": 0, "uncertain": 1}
    assert (found["hour"], found["end"], found["next_change"]) == (8.0, 96.0, 84.0)
    dose = next(one for one in found["occurrences"] if one["known"] == "known")
    assert (dose["hours"], dose["documented"], dose["row_index"]) == (7.5, 7.5, 0)
    assert api.get(path, h="7")[1]["counts"]["not_yet"] == 1
    # By the note alone the dose was at 4 h, and only the note documents it.
    assert api.get(path, h="5", source="note")[1]["counts"]["later"] == 2
    assert api.get(path)[1]["hour"] == 24.0
    assert AuditEvent.objects.filter(action="cohort.case", actor=person).count() == 1
    for query, field in (({"h": "soon"}, "h"), ({"h": "nan"}, "h"), ({"source": "rows"}, "source")):
        status, refused = api.get(path, **query)
        assert (status, list(refused["fields"])) == (400, [field])


def test_a_source_without_a_timeline_exposes_nobody(api, stay, person):
    _, found = api.get(f"cases/{stay.public_id}/as-of/", source="reference")
    assert (found["timeline"], found["occurrences"], found["counts"]) == (None, [], {})
    actions = AuditEvent.objects.filter(actor=person).values_list("action", flat=True)
    assert "cohort.case" not in actions
    assert "case.open" in actions


def test_a_report_counts_and_lists(api, run, stay, person):
    concept = make_concept(run.study, "Reversal", mentions=["Andexanet was given"]).concept
    path = start_report(api, run, hours=7.0, concepts=[concept.public_id], label="mine")
    _, report = api.get(path)
    assert (report["label"], report["hours"], report["after"]) == ("mine", 7.0, None)
    assert (report["stays"], report["without"]) == (1, 0)
    groups = {(g["of"], g["key"]): g for g in report["groups"]}
    of_concept = groups["concept", concept.public_id]
    assert of_concept["words"] == "Reversal, version 1"
    assert {c["known"]: c["occurrences"] for c in of_concept["counts"]} == {
        "known": 0,
        "later": 0,
        "not_yet": 1,
        "uncertain": 0,
    }
    _, page = api.get(f"{path}cells/")
    assert [one["mention"] for one in page["results"]] == ["Andexanet was given", "Fell at home"]
    cell = {"of": "concept", "key": concept.public_id, "known": "not_yet"}
    _, page = api.get(f"{path}cells/", **cell)
    (dose,) = page["results"]
    assert (dose["case"], dose["hour"], dose["hours"]) == (stay.public_id, 7.0, 7.5)
    assert dose["sentence"] == "Andexanet was given."
    assert api.get(f"{path}cells/", limit=1, offset=1)[1]["results"][0]["mention"] == "Fell at home"
    assert api.get(f"{path}cells/", of="concept", key="x" * 12)[0] == 404
    seen = AuditEvent.objects.filter(action="cohort.case", actor=person)
    assert {event.object_id for event in seen} == {stay.public_id}
    rows = list(csv.DictReader(io.StringIO(api.get(f"{path}table/csv/")[1])))
    assert {r["name"] for r in rows if r["kind"] == "concept"} == {"Reversal, version 1"}
    assert api.get(f"{path}table/json/")[1]["name"] == "as-of"
    assert [one["label"] for one in api.get("as-of/")[1]["results"]] == ["mine"]


def test_hours_may_count_from_a_concept(api, run, stay):
    make_stay(run, [FELL])
    concept = make_concept(run.study, "Reversal", mentions=["Andexanet was given"]).concept
    path = start_report(api, run, hours=1.0, after=concept.public_id)
    _, report = api.get(path)
    assert (report["after"]["name"], report["stays"], report["without"]) == ("Reversal", 1, 1)


def test_what_cannot_be_asked_is_named(api, run, stay):
    dataset = run.dataset.public_id
    for body, field in (
        ({"dataset": dataset}, "hours"),
        ({"dataset": dataset, "hours": 1e9}, "hours"),
        ({"dataset": dataset, "hours": 1, "source": "rows"}, "source"),
        ({"dataset": dataset, "hours": 1, "concepts": ["a" * 12]}, "concepts"),
        ({"dataset": dataset, "hours": 1, "after": "a" * 12}, "after"),
    ):
        status, refused = api.post("as-of/", **body)
        assert (status, list(refused["fields"])) == (400, [field])
    assert api.post("as-of/", dataset="a" * 12, hours=1)[0] == 404
    assert not AsOfReport.objects.exists()


def test_an_admin_exports_by_a_policy(api, run, stay):
    path = start_report(api, run, hours=8.0)
    assert api.post(f"{path}export/", format="cases")[0] == 400
    status, made = api.post(f"{path}export/", format="csv", basis="point", later_notes=True)
    export = Export.objects.get()
    assert (status, made) == (201, {"export": export.public_id})
    assert (export.view["basis"], export.view["doubt"]) == ("point", "drop")
    assert export.view["later_notes_left_out"] is False
    assert api.get(f"exports/{made['export']}/")[1]["state"] == "queued"
    clinician = ApiClient(factories.make_user(run.study, Role.CLINICIAN))
    assert clinician.post(f"{path}export/", format="csv")[0] == 403


def test_features_that_leak_are_listed(api, run, stay, person):
    dataset = run.dataset.public_id
    lines = [
        "case,name,hours",
        f"{stay.case_id},Andexanet was given,8",
        f"{stay.case_id},Andexanet was given,7",
        f"{stay.case_id},No such thing,7",
    ]
    status, made = api.post("leakage/", dataset=dataset, features="\n".join(lines))
    assert (status, made["features"], made["counts"]) == (201, 3, {})
    path = f"leakage/{made['id']}/"
    assert api.get(f"{path}leaks/")[0] == 404
    complete(LeakageCheck, made["id"])
    _, check = api.get(path)
    assert check["counts"] == {"known": 1, "not_yet": 1, "unmatched": 1}
    _, page = api.get(f"{path}leaks/")
    early, unmatched = page["results"]
    assert (early["line"], early["known"], early["case_id"]) == (3, "not_yet", stay.case_id)
    (used,) = early["used"]
    assert (used["hours"], used["row_index"]) == (7.5, 0)
    assert used["sentence"] == "Andexanet was given."
    assert (unmatched["line"], unmatched["known"], unmatched["used"]) == (4, None, [])
    assert AuditEvent.objects.filter(action="cohort.case", actor=person).exists()
    rows = list(csv.DictReader(io.StringIO(api.get(f"{path}file/")[1])))
    assert [row["line"] for row in rows] == ["3", "4"]
    assert [one["id"] for one in api.get("leakage/")[1]["results"]] == [made["id"]]


def test_a_rule_counts_and_lists(api, run, stay):
    status, made = api.post("leakage/", dataset=run.dataset.public_id, hours=7)
    assert (status, made["features"]) == (201, 0)
    complete(LeakageCheck, made["id"])
    path = f"leakage/{made['id']}/"
    assert sum(group["too_early"] for group in api.get(path)[1]["groups"]) == 2
    assert api.get(f"{path}cells/")[1]["count"] == 2
    assert api.get(f"{path}leaks/")[0] == 404


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({}, "__all__", "Bring features, or enter hours"),
        ({"features": "case,name\n1,x"}, "features", "hours"),
        ({"features": "case,name,hours\n1,x,soon"}, "features", "2"),
        ({"features": "case,name,hours\n1,x,1", "hours": 3}, "__all__", "not both"),
    ],
)
def test_bad_features_are_named(api, run, stay, body, field, words):
    status, refused = api.post("leakage/", dataset=run.dataset.public_id, **body)
    assert (status, list(refused["fields"])) == (400, [field])
    assert words in " ".join(refused["fields"][field])


def test_a_closed_case_closes_figures_over_all(api, run, stay, person):
    other = make_stay(run, [FELL])
    path = start_report(api, run, hours=8.0)
    _, made = api.post("leakage/", dataset=run.dataset.public_id, hours=7)
    complete(LeakageCheck, made["id"])
    start_authoring(encounter=other, protocol=Authoring.Protocol.UNAIDED, by=person)
    check = f"leakage/{made['id']}/"
    for closed in (path, f"{path}cells/", f"{path}table/csv/", check, f"{check}cells/"):
        status, refused = api.get(closed)
        assert (status, refused["code"]) == (403, "not_allowed"), closed
    assert api.post(f"{path}export/")[0] == 403
    for name in ("as-of/", "leakage/"):
        assert api.get(name)[1]["results"] == []
    status, refused = api.post("as-of/", dataset=run.dataset.public_id, hours=1)
    assert (status, list(refused["fields"])) == (400, ["dataset"])
    assert api.get(f"cases/{other.public_id}/as-of/")[0] == 403
    assert api.get(f"cases/{stay.public_id}/as-of/")[0] == 200
