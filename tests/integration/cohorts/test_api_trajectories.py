"""Trajectories and attention in the API."""

from __future__ import annotations

import csv
import io

import pytest

from accounts.models import AuditEvent, Role
from cohorts.attention.ranking import rank_study
from cohorts.models import AttentionRanking, Trajectory
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.authoring.actions import start_authoring
from timelines.models import Authoring

pytestmark = pytest.mark.django_db
POTASSIUM = "lab:potassium:blood"
MOVED = Event("Fever began", 0.0, 84.0)


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
    """Two stays with the drug at 10 h, one without."""
    events = [Event("drug was given", 4.0, 10.0), Event("fever began", 11.0, 12.0)]
    rows = [Row(POTASSIUM, 9.5, "7"), Row(POTASSIUM, 11.0, "5")]
    return [make_stay(run, events, rows), make_stay(run, events), make_stay(run, [events[1]])]


@pytest.fixture
def saved(api, run, stays):
    drug = make_concept(run.study, "drug given", mentions=["drug was given"]).concept.public_id
    fever = make_concept(run.study, "fever", mentions=["fever began"]).concept.public_id
    status, made = api.post(
        "trajectories/",
        dataset=run.dataset.public_id,
        name="After the drug",
        zero=drug,
        target=fever,
        concepts=[drug, fever],
        series="lab:potassium*",
        start=-2,
        stop=8,
    )
    assert status == 201
    return f"trajectories/{made['id']}/"


def test_a_view_says_what_its_figures_say(api, saved, stays, person):
    _, shown = api.get(saved)
    assert (shown["name"], shown["stays"], shown["without"]) == ("After the drug", 2, 1)
    assert (shown["choice"]["start"], shown["choice"]["source"]) == (-2.0, "record")
    assert shown["series"] == [POTASSIUM]
    assert shown["changes"].startswith(
        "In 1 stay with a value before and after, the middle one fell"
    )
    rows = {table["name"]: table["rows"] for table in shown["tables"]}
    # Courses are of all stays, lanes of those with an hour 0.
    assert (rows["lanes"], rows["courses"], rows["changes"]) == (4, 5, 1)
    seen = AuditEvent.objects.filter(action="cohort.case", actor=person)
    assert {event.object_id for event in seen} == {stay.public_id for stay in stays[:2]}
    assert [one["name"] for one in api.get("trajectories/")[1]["results"]] == ["After the drug"]


def test_tables_are_tidy_and_expose_the_stays_that_they_name(api, saved, stays, person):
    _, table = api.get(f"{saved}tables/lanes/json/")
    assert table["heads"] == ["case", "lane", "concept", "hours", "earliest", "latest"]
    first = [row for row in table["rows"] if row[0] == stays[0].case_id]
    assert [(row[2], row[3]) for row in first] == [("drug given", 0.0), ("fever", 2.0)]
    text = api.get(f"{saved}tables/courses/csv/")[1]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["case"] for row in rows} == {stay.case_id for stay in stays}
    seen = AuditEvent.objects.filter(action="cohort.case", actor=person)
    assert {event.object_id for event in seen} == {stay.public_id for stay in stays}
    assert api.get(f"{saved}tables/courses/xlsx/")[0] == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"zero": "a" * 12}, "zero"),
        ({"group": "age"}, "group"),
        ({"concepts": ["a" * 12]}, "concepts"),
        ({"start": 3}, "start"),
        ({"start": -1, "stop": -2}, "stop"),
        ({"source": "rows"}, "source"),
    ],
)
def test_choices_that_cannot_be_are_named(api, run, stays, body, field):
    given = {"dataset": run.dataset.public_id, "name": "x", **body}
    status, refused = api.post("trajectories/", **given)
    assert (status, list(refused["fields"])) == (400, [field])


def test_a_name_is_used_once_and_only_the_author_and_admins_delete(api, run, saved):
    body = {"dataset": run.dataset.public_id, "name": "After the drug"}
    assert api.post("trajectories/", **body)[0] == 422
    other = ApiClient(factories.make_user(run.study, Role.CLINICIAN))
    assert other.delete(saved)[0] == 403
    assert api.delete(saved)[0] == 204
    assert not Trajectory.objects.exists()


def test_closed_cases_are_in_no_figure(api, saved, stays, person):
    start_authoring(encounter=stays[0], protocol=Authoring.Protocol.UNAIDED, by=person)
    _, shown = api.get(saved)
    assert (shown["stays"], shown["changes"]) == (1, "")
    _, table = api.get(f"{saved}tables/courses/json/")
    assert stays[0].case_id not in {row[0] for row in table["rows"]}
    assert not AuditEvent.objects.filter(
        action="cohort.case", object_id=stays[0].public_id
    ).exists()


def test_an_open_bound_is_empty(api, run, stays, saved):
    """The fever has an earliest time alone; hour 0 has both."""
    fever = Event("fever began", 12.0, 12.0, record_bounds=(11.0, None))
    stay = make_stay(run, [Event("drug was given", 10.0, 10.0), fever])
    _, table = api.get(f"{saved}tables/lanes/json/")
    rows = [row for row in table["rows"] if row[0] == stay.case_id]
    assert [row[3:] for row in rows] == [[0.0, 0.0, 0.0], [2.0, 1.0, None]]
    lines = api.get(f"{saved}tables/lanes/csv/")[1].splitlines()
    assert [line for line in lines if line.startswith(stay.case_id)][1].endswith("fever,2.0,1.0,")


# Where a look is needed.


def test_places_are_ranked_filtered_and_looked_at(api, run, person):
    moved = make_stay(run, [MOVED])
    assert api.get("attention/")[1] == {
        "ranked_at": None,
        "count": 0,
        "next": None,
        "previous": None,
        "results": [],
    }
    assert api.post("attention/rank/") == (201, {"state": "queued"})
    assert AttentionRanking.objects.count() == 1
    rank_study(run.study)
    _, page = api.get("attention/", why="moved", dataset=run.dataset.public_id)
    (place,) = page["results"]
    assert (place["case"], place["mention"]) == (moved.public_id, "Fever began")
    # Moved by 84 of 168 hours: one and a half times the weight.
    assert (place["score"], place["reasons"][0]["why"]) == (1.5, "moved")
    assert api.get("attention/", why="wide")[1]["results"] == []
    assert api.get("attention/", why="odd")[0] == 400
    seen = AuditEvent.objects.filter(action="cohort.case", actor=person)
    assert [event.object_id for event in seen] == [moved.public_id]
    assert api.post(f"attention/{place['number']}/look/")[0] == 204
    assert api.get("attention/")[1]["results"] == []


def test_rows_without_narrative_are_listed_stay_by_stay(api, run, person):
    silent = make_stay(run, [Event("fell", 0.0, 0.0)], [Row("lab:potassium:blood", 5.0, "9")])
    path = f"datasets/{run.dataset.public_id}/unexplained/"
    _, page = api.get(path)
    (stay,) = page["results"]
    (episode,) = stay["episodes"]
    assert stay["case"] == silent.public_id
    assert [(r["row_index"], r["hours"], r["value"]) for r in episode["rows"]] == [(0, 5.0, "9")]
    assert episode["nearest"]["mention"] == "fell"
    seen = AuditEvent.objects.filter(action="cohort.case", actor=person)
    assert [event.object_id for event in seen] == [silent.public_id]
    start_authoring(encounter=silent, protocol=Authoring.Protocol.UNAIDED, by=person)
    assert api.get(path)[1]["results"] == []


def test_closed_places_are_neither_listed_nor_looked_at(api, run, person):
    moved = make_stay(run, [MOVED])
    rank_study(run.study)
    (place,) = api.get("attention/")[1]["results"]
    start_authoring(encounter=moved, protocol=Authoring.Protocol.UNAIDED, by=person)
    assert api.get("attention/")[1]["count"] == 0
    assert api.post(f"attention/{place['number']}/look/")[0] == 404
