"""The Python client walks from a concept to a result."""

from __future__ import annotations

import csv

import httpx
import pytest
from django.core.wsgi import get_wsgi_application
from occurrent_client import Occurrent, OccurrentError

from accounts.api_access.tokens import issue_token
from accounts.models import Role
from cohorts.asof.jobs import execute_check, execute_report
from cohorts.models import AsOfReport, LeakageCheck, WindowResult
from cohorts.windows.evaluating import execute_result
from tests import factories
from tests.worlds.cohorts import Event, Row, make_stay, make_study_run

pytestmark = pytest.mark.django_db(transaction=True)
YAML = """
name: Reversal within 6 h
anchor: admission
where:
  - event: reversal
    within: 0 h to 6 h after anchor
"""
#: The note says 4 h, the chart 9 h.
GIVEN = Event("Andexanet was given", 4.0, 9.0, rows=(0,))


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def stays(run):
    chart = [Row("med:andexanet:administration", 9.0, "400")]
    return [make_stay(run, [GIVEN], chart), make_stay(run, [Event("Fell at home", -2.0, -2.0)])]


@pytest.fixture
def oc(run):
    """The client of an admin, which asks the application without a network."""
    person = factories.make_user(run.study, Role.ADMIN, Role.CLINICIAN)
    _, token = issue_token(user=person, label="client", by=None)
    transport = httpx.WSGITransport(app=get_wsgi_application())
    http = httpx.Client(base_url="http://testserver", transport=transport)
    return Occurrent("http://testserver", token, http)


def test_from_a_concept_to_a_reclassified_stay(oc, run, stays, tmp_path):
    oc.concepts.create("reversal", "a reversal agent was given")
    assert oc.concepts.propose("reversal", "words", "andexanet") == 1
    waiting = [member["id"] for member in oc.concepts.members("reversal", "proposed")]
    assert oc.concepts.accept("reversal", waiting) == 1
    assert oc.concepts.make_version("reversal")["number"] == 1
    assert len(oc.concepts.version("reversal", 1)["members"]) == 1
    oc.windows.create(YAML)
    result = oc.windows.evaluate("Reversal within 6 h", run.dataset.name)
    execute_result(WindowResult.objects.get().pk)
    result.wait(poll=0, say=lambda words: None)
    assert result.facts["yes"] == {"first": 1, "second": 0}
    (changed,) = result.members("changed")
    assert changed["case"] == stays[0].public_id
    assert changed["first"]["evidence"][0]["sentence"] == "Andexanet was given."
    assert changed["second"]["evidence"][0]["row"]["row_index"] == 0
    answered = result.answer(changed["number"], "yes", "the chart was late")
    assert answered["answer"]["member"] == "yes"
    with result.save(tmp_path / "members.csv").open() as file:
        rows = {row["case"]: row["member"] for row in csv.DictReader(file)}
    assert rows == {stays[0].case_id: "yes", stays[1].case_id: "no"}
    assert oc.concepts.write("reversal")["version"]["number"] == 1
    with pytest.raises(LookupError, match=r"No windows are named other\..* Reversal within 6 h"):
        oc.windows.get("other")
    with pytest.raises(OccurrentError, match="ACES has no admission"):
        oc.windows.write_aces("Reversal within 6 h")


def test_what_was_known_trajectories_and_attention(oc, run, stays, tmp_path):
    known = oc.as_of.case(stays[0].public_id, 8)
    assert known["counts"]["not_yet"] == 1
    report = oc.as_of.report(run.dataset.name, 8)
    execute_report(AsOfReport.objects.get().pk)
    report.wait(poll=0, say=lambda words: None)
    assert report.facts["stays"] == 2
    assert [one["mention"] for one in report.occurrences(known="not_yet")] == [
        "Andexanet was given"
    ]
    assert "not_yet" in report.save(tmp_path / "known.csv").read_text()
    assert oc.as_of.export(report, format="csv").state == "queued"
    features = tmp_path / "features.csv"
    features.write_text(f"case,name,hours\n{stays[0].case_id},Andexanet was given,8\n")
    check = oc.as_of.check(run.dataset.name, features)
    execute_check(LeakageCheck.objects.get().pk)
    check.wait(poll=0, say=lambda words: None)
    (leak,) = check.leaks()
    assert (leak["line"], leak["known"]) == (2, "not_yet")
    assert "Andexanet" in check.save(tmp_path / "leaks.csv").read_text()
    oc.trajectories.save("Stays", run.dataset.name)
    assert oc.trajectories.get("Stays")["stays"] == 2
    assert len(oc.trajectories.table("Stays", "lanes")) == 0
    oc.trajectories.delete("Stays")
    assert oc.trajectories.all() == []
    assert [*oc.attention.all()] == []
    assert [*oc.attention.unexplained(run.dataset.name)] == []
