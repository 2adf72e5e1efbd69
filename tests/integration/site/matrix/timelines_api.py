"""Who may read and steer cases, runs and evaluations in the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobs.models import JobState
from tests.integration.site.matrix import (
    timelines,
    timelines_case,
    timelines_evaluation,
    timelines_exports,
)
from tests.integration.site.matrix.ehr_api import expect_readers
from tests.integration.site.matrix.world import Answer, Row, World, answers


def _admins(answer: Answer, *, outsider: Answer = 404) -> Mapping[str, Answer]:
    return answers(
        anonymous=401,
        clinician=403,
        reviewer=403,
        admin=answer,
        outsider=outsider,
        nobody=403,
        superuser=403,
    )


def _case(world: World) -> dict[str, str]:
    return {"case_id": timelines_case._case(world)["public_id"]}


def _timeline(world: World) -> dict[str, str]:
    return {**_case(world), "timeline_id": timelines_case._timeline(world)}


def _chain(world: World) -> dict[str, str]:
    return {**_timeline(world), "uid": timelines_case._occurrence(world)["uid4"]}


def _run(world: World) -> dict[str, str]:
    return {"run_id": timelines.make_case_run(world).run.public_id}


def _acting(action: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_run(world), "action": action}


def _evaluation(world: World, state: str = JobState.SUCCEEDED) -> dict[str, str]:
    return {"evaluation_id": timelines_evaluation._evaluation(world, state).public_id}


def _table(name: str, form: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_evaluation(world), "name": name, "form": form}


CASES = [
    Row("timelines_api:cases", expect_readers(200, 200)),
    Row("timelines_api:case_search", expect_readers(415, 415), method="post"),
    Row("timelines_api:case_timelines", expect_readers(200), path=_case),
    Row("timelines_api:entries", expect_readers(200), path=_timeline),
    Row("timelines_api:chain", expect_readers(200), path=_chain),
    Row(
        "timelines_api:chain",
        expect_readers(404),
        path=lambda world: {**_chain(world), "uid": "ffff"},
    ),
]
RUNS = [
    Row("timelines_api:runs", expect_readers(200, 200)),
    Row("timelines_api:runs", _admins(415, outsider=415), method="post"),
    Row("timelines_api:run_choices", _admins(200, outsider=200)),
    Row("timelines_api:run", expect_readers(200), path=_run),
    Row("timelines_api:run", _admins(415), method="patch", path=_run),
    *(
        Row("timelines_api:run_action", _admins(200), method="post", path=_acting(action))
        for action in ("pause", "resume", "cancel", "retry")
    ),
    Row("timelines_api:run_action", _admins(404), method="post", path=_acting("other")),
    Row("timelines_api:run_cases", expect_readers(200), path=_run),
    Row(
        "timelines_api:run_case_retry",
        _admins(204),
        method="post",
        path=lambda world: {
            **_run(world),
            "case_run_id": timelines.make_case_run(world).public_id,
        },
    ),
    Row("timelines_api:run_choose", _admins(415), method="post", path=_run),
    Row("timelines_api:run_timelines", expect_readers(200), path=_run),
]
EVALUATIONS = [
    Row("timelines_api:evaluations", expect_readers(200, 200)),
    Row("timelines_api:evaluations", _admins(415, outsider=415), method="post"),
    Row("timelines_api:evaluation_choices", _admins(200, outsider=200)),
    Row("timelines_api:evaluation", expect_readers(200), path=_evaluation),
    *(
        Row("timelines_api:evaluation_table", expect_readers(200), path=_table("main", form))
        for form in ("csv", "latex", "json")
    ),
    Row("timelines_api:evaluation_table", expect_readers(404), path=_table("other", "csv")),
    Row("timelines_api:evaluation_table", expect_readers(404), path=_table("main", "xlsx")),
    Row(
        "timelines_api:evaluation_action",
        _admins(200),
        method="post",
        path=lambda world: {**_evaluation(world, JobState.QUEUED), "action": "cancel"},
    ),
    Row(
        "timelines_api:evaluation_action",
        _admins(409),
        method="post",
        path=lambda world: {**_evaluation(world), "action": "cancel"},
    ),
    Row(
        "timelines_api:evaluation_action",
        _admins(404),
        method="post",
        path=lambda world: {**_evaluation(world), "action": "other"},
    ),
]


def _export(world: World, state: JobState = JobState.SUCCEEDED) -> dict[str, str]:
    return {"export_id": timelines_exports._export(world, state).public_id}


def _exporting(action: str, state: JobState) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_export(world, state), "action": action}


EXPORTS = [
    Row("timelines_api:exports", _admins(200, outsider=200)),
    Row("timelines_api:exports", _admins(415, outsider=415), method="post"),
    Row("timelines_api:export", _admins(200), path=_export),
    Row("timelines_api:export_download", _admins(200), path=_export),
    *(
        Row(
            "timelines_api:export_action",
            _admins(answer),
            method="post",
            path=_exporting(action, state),
        )
        for action, state, answer in (
            ("pause", JobState.QUEUED, 200),
            ("resume", JobState.QUEUED, 200),
            ("cancel", JobState.QUEUED, 200),
            ("retry", JobState.FAILED, 200),
            ("delete", JobState.SUCCEEDED, 200),
            ("delete", JobState.QUEUED, 422),
            ("other", JobState.QUEUED, 404),
        )
    ),
]
ROWS = [*CASES, *RUNS, *EVALUATIONS, *EXPORTS]
