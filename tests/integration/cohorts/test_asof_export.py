"""Exports of what was known at an hour, and what is closed to a person."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from cohorts.asof.counting import Question
from cohorts.asof.exporting import start_as_of_export
from cohorts.asof.jobs import execute_report, start_check, start_report
from cohorts.asof.states import Basis, Doubt, Policy
from cohorts.models import AsOfReport
from cohorts.values import Source
from jobs.models import JobState
from tests import factories
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.authoring.actions import start_authoring
from timelines.exports.actions import ExportRefused
from timelines.exports.files import Store
from timelines.exports.writing import execute_export
from timelines.models import Authoring, Export

pytestmark = pytest.mark.django_db(transaction=True)
EVENTS = [
    Event("Fell at home", -2.0, -2.0),
    Event("Andexanet was given", 4.0, 7.5, rows=(0,)),
    Event("Cough began", 4.0, 4.0, record_bounds=(0.0, 20.0)),
    Event("Extubated", 40.0, 40.0),
    Event("Rash appeared", 12.0, 12.0, record_bounds=(2.0, 30.0), rows=(1,)),
]
ROWS = [Row("med:andexanet:administration", 7.5), Row("chart:rash", 3.0, time_kind="charted")]


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def stay(run):
    stay = make_stay(run, EVENTS, ROWS)
    stay.notes.update(charted_at=stay.admitted_at + timedelta(hours=5))
    return stay


@pytest.fixture
def admin(run):
    return factories.make_user(run.study, Role.ADMIN)


def make_report(run, admin, hours=8.0, after=None):
    return start_report(question=Question(run.dataset, Source.RECORD, hours, after), by=admin)


def export(report, admin, policy, format="csv"):
    started = start_as_of_export(
        report=report, policy=policy, format=format, with_note_text=False, by=admin
    )
    assert execute_export(started.pk) == JobState.SUCCEEDED, Export.objects.get().reasons
    return zipfile.ZipFile(Store(started.public_id).archive)


def read_csv(archive):
    return list(csv.DictReader(io.StringIO(archive.read("timelines.csv").decode())))


@pytest.mark.parametrize(
    ("policy", "mentions"),
    [
        (Policy(Basis.POINT, Doubt.KEEP), ["Fell at home", "Andexanet was given", "Cough began"]),
        (Policy(Basis.LATEST, Doubt.DROP), ["Fell at home", "Andexanet was given"]),
        (
            Policy(Basis.DOCUMENTED, Doubt.FLAG),
            ["Fell at home", "Andexanet was given", "Cough began", "Rash appeared"],
        ),
    ],
)
def test_a_policy_chooses_the_lines(run, stay, admin, policy, mentions):
    archive = export(make_report(run, admin), admin, policy)
    lines = read_csv(archive)
    assert [line["mention"] for line in lines] == mentions
    assert {line["rows"] + line["evidence"] + line["near_rows"] for line in lines} <= {"", "[]"}
    flagged = [line["mention"] for line in lines if line["reason"] == "uncertain at the hour"]
    assert flagged == (mentions[2:] if policy.doubt is Doubt.FLAG else [])
    for name in ("timelines.csv.schema.json", "export.json"):
        words = json.loads(archive.read(name))["description"]
        assert "as of 8 h after admission" in words
        assert policy.words in words


def test_nothing_later_than_the_hour_is_in_the_file(run, stay, admin):
    archive = export(make_report(run, admin), admin, Policy(Basis.DOCUMENTED, Doubt.KEEP))
    rash = read_csv(archive)[-1]
    assert (rash["time"], rash["lower"], rash["upper"]) == ("", "2.0", "8.0")


def test_a_note_of_a_later_hour_contributes_nothing_unless_asked(run, stay, admin):
    report = make_report(run, admin, hours=4.5)
    with_notes = Policy(Basis.DOCUMENTED, Doubt.KEEP, later_notes_left_out=False)
    assert [line["mention"] for line in read_csv(export(report, admin, with_notes))] == [
        "Rash appeared"
    ]
    started = start_as_of_export(
        report=report,
        policy=Policy(Basis.DOCUMENTED, Doubt.KEEP),
        format="csv",
        with_note_text=False,
        by=admin,
    )
    assert execute_export(started.pk) == JobState.FAILED


def test_hours_after_a_concept_and_other_formats(run, stay, admin):
    make_stay(run, [EVENTS[0]])
    given = make_concept(run.study, "given", mentions=["Andexanet was given"])
    report = make_report(run, admin, hours=0.5, after=given)
    policy = Policy(Basis.POINT, Doubt.DROP)
    archive = export(report, admin, policy, "parquet")
    (name,) = [name for name in archive.namelist() if name.endswith(".parquet")]
    rows = pq.read_table(io.BytesIO(archive.read(name))).to_pylist()
    assert [row["mention"] for row in rows] == ["Fell at home", "Andexanet was given"]
    meds = export(report, admin, policy, "meds")
    metadata = json.loads(meds.read("timelines/metadata/dataset.json"))
    assert "as of 0.5 h after given" in metadata["description"]


def test_formats_with_the_note_are_refused(run, stay, admin):
    with pytest.raises(ExportRefused, match="choose one of the formats"):
        export(make_report(run, admin), admin, Policy(Basis.POINT, Doubt.DROP), "brat")


def test_the_page_starts_an_export(run, stay, admin, client):
    report = make_report(run, admin)
    execute_report(report.pk)
    client.force_login(admin)
    page = client.get(reverse("cohorts:as_of_report", args=[report.public_id])).content.decode()
    address = reverse("cohorts:as_of_export", args=[report.public_id])
    assert address in page
    client.post(address, {"format": "csv", "basis": "nothing", "doubt": "drop"})
    assert not Export.objects.exists()
    client.post(address, {"format": "csv", "basis": "latest", "doubt": "flag"})
    started = Export.objects.get()
    assert started.view["basis"] == "latest"
    assert started.view["later_notes_left_out"] is True
    assert (
        "CSV, as of 8 h after admission"
        in client.get(reverse("timelines:exports")).content.decode()
    )
    event = AuditEvent.objects.get(action="export.start")
    assert event.detail["view"] == "as of 8 h after admission"


# What is closed to a person.


def test_a_closed_case_is_left_out_and_closes_figures(run, stay, client):
    other = make_stay(run, [Event("Improved", 1.0, 1.0)])
    person = factories.make_user(run.study, Role.ADMIN, Role.CLINICIAN)
    report = make_report(run, person)
    check = start_check(dataset=run.dataset, source=Source.RECORD, hours=8.0, by=person)
    execute_report(report.pk)
    start_authoring(encounter=other, protocol=Authoring.Protocol.UNAIDED, by=person)
    client.force_login(person)
    for name, job in (
        ("as_of_report", report),
        ("as_of_cell", report),
        ("leakage_check", check),
        ("leakage_cell", check),
        ("leakage_file", check),
    ):
        page = client.get(reverse(f"cohorts:{name}", args=[job.public_id]))
        assert page.status_code == 403, name
        assert b"closed to you" in page.content
    table = reverse("cohorts:as_of_table", args=[report.public_id, "csv"])
    assert client.get(table).status_code == 403
    listed = client.get(reverse("cohorts:as_of_reports")).content.decode()
    assert report.public_id not in listed
    assert check.public_id not in listed
    assert "closed to you are not listed" in listed
    closed_case = client.get(reverse("cohorts:as_of_case", args=[other.public_id]))
    assert closed_case.status_code == 403
    assert client.get(reverse("cohorts:as_of_case", args=[stay.public_id])).status_code == 200
    form = client.get(reverse("cohorts:as_of_new")).content.decode()
    assert run.dataset.public_id not in form
    policy = Policy(Basis.POINT, Doubt.DROP, later_notes_left_out=False)
    found = read_csv(export(AsOfReport.objects.get(), person, policy))
    assert "Improved" not in {line["mention"] for line in found}


def test_a_reviewer_cannot_start_one(run, stay):
    person = factories.make_user(run.study, Role.REVIEWER)
    with pytest.raises(NotAllowed):
        make_report(run, person)
