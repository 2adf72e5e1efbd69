"""Concepts in the API, from a rule to a version."""

from __future__ import annotations

import json

import pytest

from accounts.actions import add_role
from accounts.models import AuditEvent, Role
from cohorts.models import Concept, ConceptMember
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.cohorts import Event, make_concept, make_stay, make_study_run
from timelines.authoring.actions import start_authoring
from timelines.domain import Polarity
from timelines.models import Authoring

pytestmark = pytest.mark.django_db
DRUG = "Drug was given"


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def stays(run):
    """The drug in two stays; in the second also its plan."""
    planned = Event("drug was planned", 1.0, 1.0, polarity=Polarity.PLANNED)
    return [
        make_stay(run, [Event(DRUG, 1.0, 1.0)]),
        make_stay(run, [Event(DRUG, 2.0, 2.0), planned]),
    ]


@pytest.fixture
def person(run):
    return factories.make_user(run.study, Role.CLINICIAN)


@pytest.fixture
def api(person):
    return ApiClient(person)


def test_a_concept_is_proposed_answered_and_frozen(api, run, stays, person):
    status, made = api.post("concepts/", name=" drug given ", description="a drug")
    assert (status, made["name"], made["version"], made["versions"]) == (
        201,
        "drug given",
        None,
        [],
    )
    one = f"concepts/{made['id']}/"
    rule = {"kind": "words", "value": "drug", "polarities": ["present", "planned"]}
    assert api.post(f"{one}rules/", **rule) == (201, {"concept": made["id"], "new": 2})
    assert api.post(f"{one}rules/", **rule)[1]["new"] == 0
    _, page = api.get(f"{one}members/", state="proposed")
    found = {member["words"]: member for member in page["results"]}
    assert {words: (m["polarity"], m["occurrences"], m["stays"]) for words, m in found.items()} == {
        "drug was given": ("present", 2, 2),
        "drug was planned": ("planned", 1, 1),
    }
    quotes = found["drug was given"]["sentences"]
    # A sentence ends where a capital follows.
    assert [quote["sentence"] for quote in quotes] == [
        "Drug was given.",
        "Drug was given. drug was planned.",
    ]
    seen = AuditEvent.objects.filter(action="cohort.case", actor=person)
    assert {event.object_id for event in seen} == {stay.public_id for stay in stays}
    assert api.post(f"{one}versions/")[0] == 422
    for words, accepted in (("drug was given", True), ("drug was planned", False)):
        body = {"members": [found[words]["id"]], "accepted": accepted, "reason": "read"}
        assert api.post(f"{one}decisions/", **body) == (200, {"count": 1})
        assert api.post(f"{one}decisions/", **body) == (200, {"count": 0})
    _, version = api.post(f"{one}versions/")
    assert [(m["words"], m["polarity"]) for m in version["members"]] == [
        ("drug was given", "present")
    ]
    # The same members make no other version.
    assert api.post(f"{one}versions/")[1] == version
    assert api.get(f"{one}versions/1/") == (200, version)
    assert api.get(f"{one}versions/2/")[0] == 404
    _, shown = api.get(one)
    assert (shown["accepted"], shown["waiting"], shown["stays"], shown["version"]) == (1, 0, 2, 1)
    assert [v["members"] for v in shown["versions"]] == [1]
    assert [r["polarities"] for r in shown["rules"]] == [["present", "planned"]]
    _, listed = api.get("concepts/")
    assert [(c["name"], c["version"]) for c in listed["results"]] == [("drug given", 1)]


def test_a_file_brings_a_concept_to_another_study(api, run, stays):
    concept = make_concept(run.study, "drug given", mentions=[DRUG]).concept
    status, content = api.get(f"concepts/{concept.public_id}/export/")
    assert (status, [m["state"] for m in content["members"]]) == (200, ["accepted"])
    assert AuditEvent.objects.filter(action="concept.export").count() == 1
    other = factories.make_study()
    theirs = ApiClient(factories.make_user(other, Role.CLINICIAN))
    status, brought = theirs.post("concepts/import/", content=content, accept=True)
    assert (status, brought["new"]) == (201, 1)
    assert Concept.objects.get(public_id=brought["concept"]).study == other
    assert ConceptMember.objects.get(concept__study=other).state == "accepted"
    status, refused = theirs.post("concepts/import/", content={"occurrent_concept": 1, "rules": 3})
    assert (status, refused["detail"]) == (422, "Rules: expected a list.")


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("", {"name": ""}, 400, "name"),
        ("", {"name": "taken"}, 422, "Enter another name"),
        ("rules/", {"kind": "smell", "value": "x"}, 400, "kind"),
        ("rules/", {"kind": "drug_class", "value": "no such class"}, 422, "drug class"),
        ("rules/", {"kind": "words", "value": "x", "lanes": ["x"]}, 400, "lanes"),
        ("decisions/", {"members": [], "accepted": True}, 400, "members"),
    ],
)
def test_what_cannot_be_used_is_named(api, run, path, body, status, word):
    concept = make_concept(run.study, "taken", mentions=[DRUG]).concept
    found = api.post(f"concepts/{concept.public_id}/{path}" if path else "concepts/", **body)
    assert found[0] == status
    assert word in json.dumps(found[1])


def test_the_same_key_creates_once(api):
    body = json.dumps({"name": "drug given"})
    key = {"Idempotency-Key": "a"}
    first = api.ask("post", "concepts/", body, key)
    second = api.ask("post", "concepts/", body, key)
    assert (first.status_code, second["Idempotent-Replayed"]) == (201, "true")
    assert first.json() == second.json()
    assert Concept.objects.count() == 1


def test_a_closed_case_hides_its_members_and_closes_versions(api, run, stays, person):
    make_stay(run, [Event("drug was stopped", 1.0, 1.0)])
    secret = make_stay(run, [Event("drug was secret", 1.0, 1.0)])
    concept = make_concept(run.study, "drug given", mentions=[DRUG, "drug was secret"]).concept
    start_authoring(encounter=secret, protocol=Authoring.Protocol.UNAIDED, by=person)
    one = f"concepts/{concept.public_id}/"
    _, page = api.get(f"{one}members/")
    assert [member["words"] for member in page["results"]] == ["drug was given"]
    _, shown = api.get(one)
    assert (shown["accepted"], shown["version"]) == (1, None)
    assert (shown["closed"], shown["versions"]) == (True, [])
    for path in ("versions/1/", "export/"):
        status, refused = api.get(f"{one}{path}")
        assert (status, refused["code"]) == (403, "not_allowed")
    assert api.post(f"{one}versions/")[0] == 403
    hidden = concept.members.get(words="drug was secret")
    body = {"members": [hidden.public_id], "accepted": False}
    assert api.post(f"{one}decisions/", **body) == (200, {"count": 0})


def test_nearest_mentions_need_vectors(api, run, stays):
    concept = make_concept(run.study, "drug given", mentions=[DRUG]).concept
    assert api.post(f"concepts/{concept.public_id}/meaning/")[1]["new"] == 0


def test_lists_are_those_of_the_persons_studies(api, run, person):
    make_concept(run.study, "mine", mentions=[DRUG])
    other = make_concept(factories.make_study(), "theirs", mentions=[DRUG])
    assert [c["name"] for c in api.get("concepts/")[1]["results"]] == ["mine"]
    study = other.concept.study
    assert api.get("concepts/", study=study.public_id)[0] == 404
    add_role(study=study, user=person, role=Role.CLINICIAN, by=None)
    assert [c["name"] for c in api.get("concepts/", study=study.public_id)[1]["results"]] == [
        "theirs"
    ]
    assert api.get("concepts/")[1]["count"] == 2
