"""Pages and files of trajectories over stored timelines and rows."""

from __future__ import annotations

import csv
import io

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Role
from cohorts.facts.versions import newest_versions
from cohorts.models import Trajectory
from cohorts.trajectories.actions import SavingRefused, delete_view, save_view
from cohorts.trajectories.choices import Choice, find_dataset
from cohorts.trajectories.loading import Bin, find_series, load, load_changes, load_curve
from ehr.models import Encounter
from tests import factories
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run

pytestmark = pytest.mark.django_db
POTASSIUM = "lab:potassium:blood"


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def stays(run):
    """Return two stays with the drug (10 h, 4 h by the note), one without."""
    events = [Event("drug was given", 4.0, 10.0), Event("fever began", 11.0, 12.0)]
    rows = [Row(POTASSIUM, h, v) for h, v in ((9.0, "6"), (9.5, "7"), (11.0, "5"), (40.0, "4"))]
    return [make_stay(run, events, rows), make_stay(run, events), make_stay(run, [events[1]])]


@pytest.fixture
def concepts(run):
    study = run.study
    return {
        "drug": make_concept(study, "drug given", mentions=["drug was given"]).concept,
        "fever": make_concept(study, "fever", mentions=["fever began"]).concept,
    }


@pytest.fixture
def person(run):
    return factories.make_user(run.study, Role.CLINICIAN)


def choose(run, concepts, **more):
    return Choice.parse(
        {
            "dataset": run.dataset.public_id,
            "zero": concepts["drug"].public_id,
            "target": concepts["fever"].public_id,
            "concepts": [c.public_id for c in concepts.values()],
            "series": "lab:potassium*",
            "start": "-2",
            "stop": "38",
            **more,
        }
    )


def test_a_stay_is_aligned_by_the_chosen_source(run, stays, concepts):
    zeros = {}
    for source in ("note", "record"):
        choice = choose(run, concepts, source=source)
        loaded = load(run.dataset, choice, newest_versions(run.study), ())
        zeros[source] = dict(loaded.aligned.stays.select("stay", "zero").iter_rows())
        assert loaded.aligned.without == (stays[2].pk,)
    assert zeros == {
        "note": {stays[0].pk: 4.0, stays[1].pk: 4.0},
        "record": {stays[0].pk: 10.0, stays[1].pk: 10.0},
    }


def test_values_are_cut_into_bins_from_hour_zero(run, stays, concepts):
    choice = choose(run, concepts)
    loaded = load(run.dataset, choice, newest_versions(run.study), ())
    series = find_series(run.dataset, choice.series)
    assert series == [POTASSIUM]
    assert load_curve(run.dataset, loaded.aligned, series, choice) == [
        Bin(-1.0, 6.25, 6.5, 6.75, 2, 1),
        Bin(1.0, 5.0, 5.0, 5.0, 1, 1),
        Bin(30.0, 4.0, 4.0, 4.0, 1, 1),
    ]
    # The last value before hour 0 and the first after it, within a day; and within a quarter.
    assert load_changes(run.dataset, loaded.aligned, series, 24.0) == [(stays[0].pk, 7.0, 5.0)]
    assert load_changes(run.dataset, loaded.aligned, series, 0.25) == []
    assert find_series(run.dataset, "lab:potassium") == []


def test_closed_cases_are_in_no_figure(run, stays, concepts):
    choice = choose(run, concepts)
    loaded = load(run.dataset, choice, newest_versions(run.study), {stays[0].pk})
    assert loaded.aligned.stays["stay"].to_list() == [stays[1].pk]
    assert loaded.aligned.without == (stays[2].pk,)


def test_odd_choices_are_read_as_defaults():
    given = {"source": "x", "start": "nan", "stop": "1e9", "order": "?", "zero": "<b>"}
    choice = Choice.parse(given)
    assert (choice.start, choice.stop, choice.source.value) == (-24.0, 96.0, "record")
    assert Choice.parse({"start": "50", "stop": "-5"}).stop == 24.0


def test_the_page_and_its_tables_agree(run, stays, concepts, person, client):
    client.force_login(person)
    query = choose(run, concepts).query
    page = client.get(f"{reverse('cohorts:trajectory_view')}?{query}").content.decode()
    assert "<b>2</b> stays have an hour 0." in page
    assert "does not show that it was its effect" in page
    assert "2 of 2" in page
    seen = AuditEvent.objects.filter(action="cohort.case").values_list("object_id", flat=True)
    assert set(seen) == {stays[0].public_id, stays[1].public_id}

    def rows(name):
        address = reverse("cohorts:trajectory_table", args=[name])
        return list(csv.reader(io.StringIO(client.get(f"{address}?{query}").content.decode())))

    assert rows("survival")[1:] == [
        ["All stays", "0.0", "1.0", "1.0"],
        ["All stays", "2.0", "0.0", "0.0"],
    ]
    assert rows("changes")[1:] == [[stays[0].case_id, "7.0", "5.0", "-2.0"]]
    assert len(rows("lanes")) == 1 + 4
    # The third stay has no hour 0, so that only the table of courses names it.
    assert stays[2].public_id not in set(seen.all())
    assert {row[0] for row in rows("courses")[1:]} == {stay.case_id for stay in stays}
    assert stays[2].public_id in set(seen.all())
    assert client.get(reverse("cohorts:trajectory_table", args=["none"])).status_code == 404


def test_a_view_is_saved_opened_and_deleted(run, stays, concepts, person, client):
    choice, versions = choose(run, concepts, source="note"), newest_versions(run.study)
    given = {"dataset": run.dataset, "choice": choice, "versions": versions, "by": person}
    saved = save_view(name="Drug", **given)
    with pytest.raises(SavingRefused, match="of that name"):
        save_view(name="Drug ", **given)
    with pytest.raises(SavingRefused, match="Enter a name"):
        save_view(name=" ", **given)
    client.force_login(person)
    opened = client.get(reverse("cohorts:trajectory", args=[saved.public_id]))
    assert opened.url == f"{reverse('cohorts:trajectory_view')}?{choice.query}"
    assert find_dataset(run.study, choice) == run.dataset
    other = factories.make_user(run.study, Role.CLINICIAN)
    with pytest.raises(Exception, match="Only the person who saved"):
        delete_view(view=saved, by=other)
    client.post(reverse("cohorts:trajectory_delete", args=[saved.public_id]))
    assert not Trajectory.objects.exists()


def test_without_data_the_page_says_what_to_do(run, person, client):
    client.force_login(person)
    page = client.get(reverse("cohorts:trajectory_view")).content.decode()
    assert "No stay has this hour 0" in page
    assert "No concept has a version yet." in page


@pytest.mark.parametrize(
    ("headline", "sex"),
    [
        ("74 M · Bleed · 4 d", "male"),
        ("> 89 F · DVT", "female"),
        ("3 mo M · Fever", "male"),
        ("F", "female"),
        ("Factor V · M", "not known"),
        ("", "not known"),
    ],
)
def test_the_sex_of_a_group_is_read_from_the_line_of_the_stay(run, headline, sex):
    stay = make_stay(run, [Event("fever began", 1.0, 1.0)])
    Encounter.objects.filter(pk=stay.pk).update(headline=headline)
    loaded = load(run.dataset, Choice(group="sex"), {}, ())
    assert loaded.groups == {stay.pk: sex}
