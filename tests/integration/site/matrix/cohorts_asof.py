"""Access to what was known at an hour: a case, reports, checks."""

from __future__ import annotations

from cohorts.asof.checking import check_features
from cohorts.asof.counting import Question, count_states, find_asked_timelines
from cohorts.asof.features import Feature
from cohorts.asof.jobs import to_plain
from cohorts.models import AsOfReport, LeakageCheck
from cohorts.values import Source
from ehr.models import Encounter
from jobs.models import JobState
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.timelines import LIST, STEER
from tests.integration.site.matrix.world import SIGN_IN, TIMES, Row, World, answers
from tests.worlds.cohorts import Event, make_stay, make_study_run

START = answers(
    anonymous=SIGN_IN,
    clinician=302,
    reviewer=403,
    admin=302,
    outsider=200,
    nobody=403,
    superuser=403,
)


def _stay(world: World) -> Encounter:
    dataset = find_encounter(world).dataset
    found = dataset.encounters.exclude(case_id="1").first()
    if found is None:
        event = Event("Fell", TIMES[0], TIMES[1])
        found = make_stay(make_study_run(dataset), [event])
    return found


def _question(world: World) -> Question:
    return Question(_stay(world).dataset, Source.RECORD, 0.0)


def _report(world: World) -> dict[str, str]:
    question = _question(world)
    counted = count_states(question, find_asked_timelines(question), [])
    found, _ = AsOfReport.objects.get_or_create(
        study=world.study,
        dataset=question.dataset,
        defaults={
            "source": "record",
            "hours": 0.0,
            "state": JobState.SUCCEEDED,
            "report": counted,
        },
    )
    return {"public_id": found.public_id}


def _check(world: World) -> dict[str, str]:
    stay = _stay(world)
    feature = Feature(2, stay.case_id, "Fell", 0.0)
    leaks = [to_plain(one) for one in check_features(stay.dataset, Source.RECORD, [feature])]
    found, _ = LeakageCheck.objects.get_or_create(
        study=world.study,
        dataset=stay.dataset,
        defaults={
            "source": "record",
            "features": [[2, stay.case_id, "Fell", 0.0]],
            "state": JobState.SUCCEEDED,
            "report": {"counts": {"not_yet": 1}, "leaks": leaks},
        },
    )
    return {"public_id": found.public_id}


def _rule(world: World) -> dict[str, str]:
    question = _question(world)
    counted = count_states(question, find_asked_timelines(question), [])
    found, _ = LeakageCheck.objects.get_or_create(
        study=world.study,
        dataset=question.dataset,
        hours=0.0,
        defaults={"source": "record", "state": JobState.SUCCEEDED, "report": counted},
    )
    return {"public_id": found.public_id}


def _start(world: World) -> dict[str, str]:
    dataset = _stay(world).dataset
    return {"dataset": dataset.public_id, "source": "record", "hours": "6"}


ROWS = [
    Row("cohorts:as_of_case", CASE_PAGE, path=lambda w: {"public_id": _stay(w).public_id}),
    Row("cohorts:as_of_reports", LIST),
    Row("cohorts:as_of_new", LIST),
    Row("cohorts:as_of_new", START, method="post", data=_start),
    Row("cohorts:as_of_report", CASE_PAGE, path=_report),
    Row("cohorts:as_of_cell", CASE_PAGE, path=_report),
    Row("cohorts:as_of_table", CASE_PAGE, path=lambda w: {**_report(w), "format": "csv"}),
    Row(
        "cohorts:as_of_export",
        STEER,
        method="post",
        path=_report,
        data=lambda _: {"format": "csv", "basis": "point", "doubt": "drop"},
    ),
    Row(
        "cohorts:as_of_action",
        STEER,
        method="post",
        path=lambda w: {**_report(w), "action": "retry"},
    ),
    Row(
        "cohorts:leakage_action",
        STEER,
        method="post",
        path=lambda w: {**_check(w), "action": "retry"},
    ),
    Row("cohorts:leakage_new", LIST),
    Row("cohorts:leakage_new", START, method="post", data=_start),
    Row("cohorts:leakage_check", CASE_PAGE, path=_check),
    Row("cohorts:leakage_cell", CASE_PAGE, path=_rule),
    Row("cohorts:leakage_file", CASE_PAGE, path=_check),
]
