"""Leakage checks: features of a file, a rule, and the command."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import AuditEvent, Role
from cohorts.asof.checking import check_features
from cohorts.asof.features import Feature
from cohorts.asof.jobs import AsOfRefused, execute_check, start_check
from cohorts.asof.states import State
from cohorts.models import LeakageCheck
from cohorts.values import Source
from jobs.models import JobState
from tests import factories
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.models import Timeline

pytestmark = pytest.mark.django_db
GIVEN = Event("Andexanet was given", 4.0, 7.5, rows=(0,))
AGAIN = Event("andexanet was given", 20.0, 20.0)
FELL = Event("Fell at home", -2.0, -2.0)
ROWS = [Row("med:andexanet:administration", 7.5, "400")]


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def stay(run):
    return make_stay(run, [GIVEN, FELL, AGAIN], ROWS)


@pytest.fixture
def clinician(run, client):
    person = factories.make_user(run.study, Role.CLINICIAN)
    client.force_login(person)
    return person


@pytest.mark.parametrize(
    ("name", "hours", "state"),
    [
        ("Andexanet was given", 8.0, State.KNOWN),  # the first dose; the second does not matter
        ("ANDEXANET WAS GIVEN", 7.0, State.NOT_YET),
        ("reversal", 7.0, State.NOT_YET),
        ("Reversal", 7.5, State.KNOWN),
        ("Fell at home", 8.0, State.LATER),  # the discharge summary says it first
        ("Fell at home", 96.0, State.KNOWN),
        ("No such thing", 96.0, None),
    ],
)
def test_a_feature_is_judged_by_its_best_occurrence(run, stay, name, hours, state):
    make_concept(run.study, "Reversal", mentions=["Andexanet was given"])
    features = [Feature(2, stay.case_id, name, hours)]
    (found,) = check_features(run.dataset, Source.RECORD, features)
    assert (found.state, found.encounter) == (state, stay.pk)


def test_the_same_feature_may_differ_by_source(run, stay):
    features = [Feature(2, stay.case_id, "Andexanet was given", 5.0)]
    states = [
        next(check_features(run.dataset, source, features)).state
        for source in (Source.NOTE, Source.RECORD)
    ]
    assert states == [State.LATER, State.NOT_YET]


def write(stay, *lines):
    return "case,name,hours\n" + "".join(f"{stay.case_id},{line}\n" for line in lines)


def post(client, run, **values):
    given = {"dataset": run.dataset.public_id, "source": "record"} | values
    return client.post(reverse("cohorts:leakage_new"), given)


@pytest.mark.django_db(transaction=True)
def test_a_check_from_file_to_csv(run, stay, clinician, client):
    text = write(stay, "Andexanet was given,7", "Fell at home,96", "=1+1,6")
    address = post(client, run, features=text).url
    check = LeakageCheck.objects.get()
    assert execute_check(check.pk) == JobState.SUCCEEDED
    page = client.get(address).content.decode()
    assert "2 of 3 features could not be known when used" in page
    assert "<mark>Andexanet was given</mark>" in page
    assert "had not happened yet" in page
    assert "no occurrence of this name in the case" in page
    assert f"{reverse('ehr:record', args=[stay.public_id])}?row=0" in page
    assert AuditEvent.objects.filter(action="cohort.case", object_id=stay.public_id).exists()
    file = client.get(reverse("cohorts:leakage_file", args=[check.public_id])).content.decode()
    lines = list(csv.DictReader(io.StringIO(file)))
    assert [(line["line"], line["state"]) for line in lines] == [
        ("2", "not_yet"),
        ("2", "not_yet"),
        ("4", ""),
    ]
    assert lines[0]["sentence"] == "Andexanet was given."
    assert "andexanet" in lines[0]["row"]
    assert lines[2]["name"] == "'=1+1"
    Timeline.objects.all().delete()
    assert b"The timeline that the check read is gone" in client.get(address).content


@pytest.mark.django_db(transaction=True)
def test_a_rule_counts_what_comes_too_early(run, stay, clinician, client):
    fell = make_concept(run.study, "fall", mentions=["Fell at home"])
    address = post(client, run, hours="10", after=fell.pk).url
    check = LeakageCheck.objects.get()
    assert execute_check(check.pk) == JobState.SUCCEEDED
    # Hour 8: the first dose is known, the fall documented later, the second dose ahead.
    assert b"2 of 3 occurrences" in client.get(address).content
    cells = reverse("cohorts:leakage_cell", args=[check.public_id])
    page = client.get(f"{cells}?kind=all").content.decode()
    assert "<mark>Fell at home</mark>" in page
    assert "<mark>andexanet was given</mark>" in page


def test_a_bad_file_or_neither_is_said_in_the_form(run, stay, clinician, client):
    page = post(client, run, features=write(stay, "fever,soon")).content.decode()
    assert "Line 2, hours: enter hours from admission" in page
    assert "Bring features, or enter hours" in post(client, run).content.decode()
    both = post(client, run, hours="6", features=write(stay, "fever,6")).content.decode()
    assert "not both" in both
    assert "Enter hours such as 6" in post(client, run, hours="1e12").content.decode()
    assert not LeakageCheck.objects.exists()


def test_neither_features_nor_a_rule_is_refused(run, clinician):
    with pytest.raises(AsOfRefused, match="Bring features"):
        start_check(dataset=run.dataset, source=Source.RECORD, by=clinician)


def test_the_command_writes_the_same(run, stay, tmp_path, capsys):
    file, out = tmp_path / "features.csv", tmp_path / "leaks.csv"
    file.write_text(write(stay, "Andexanet was given,7", "Fell at home,96"))
    call_command("check_leakage", file, dataset=run.dataset.name, out=out)
    assert "2 features" in capsys.readouterr().out
    lines = list(csv.DictReader(out.open()))
    assert {line["finding"] for line in lines} == {"had not happened yet"}
    file.write_text("case,name,hours\nz,x,1\n")
    with pytest.raises(CommandError, match=r"features.csv: Line 2, case: the dataset has no such"):
        call_command("check_leakage", file, dataset=run.dataset.name, out=out)
    with pytest.raises(CommandError, match="there is no dataset"):
        call_command("check_leakage", file, dataset="nothing", out=out)
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("check_leakage", tmp_path / "no.csv", dataset=run.dataset.name, out=out)
