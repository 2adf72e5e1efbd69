"""Access to everything of cohorts in the API."""

from __future__ import annotations

from collections.abc import Callable

from tests.integration.site.matrix import cohorts, cohorts_asof, cohorts_concepts, cohorts_windows
from tests.integration.site.matrix.ehr_api import expect_admins, expect_readers
from tests.integration.site.matrix.world import Row, World

Path = Callable[[World], dict[str, str]]
#: Lists and starts of a person's own studies: other people's are empty or theirs.
LIST, START = expect_readers(200, 200), expect_readers(415, 415)
READ, CHANGE = expect_readers(200), expect_readers(415)


def _named(name: str, page: Path, **more: str) -> Path:
    """Return the path of a page with the API's name of its id."""
    return lambda world: {name: page(world)["public_id"], **more}


def _version(world: World) -> dict[str, str]:
    cohorts_concepts._sample(world)  # has a version
    return {**_concept(world), "number": "1"}


def _member(world: World) -> dict[str, str]:
    return {**_result(world), "number": cohorts_windows._number(world)["number"]}


def _dataset(world: World) -> dict[str, str]:
    return {"dataset_id": cohorts_asof._stay(world).dataset.public_id}


_concept = _named("concept_id", cohorts_concepts._concept)
_window = _named("window_id", cohorts_windows._window)
_result = _named("result_id", cohorts_windows._result)
_case = _named("case_id", lambda w: {"public_id": cohorts_asof._stay(w).public_id})
_report = _named("report_id", cohorts_asof._report)
_check = _named("check_id", cohorts_asof._check)
_rule = _named("check_id", cohorts_asof._rule)
_saved = _named("trajectory_id", cohorts._saved)


def _with(path: Path, **more: str) -> Path:
    return lambda world: {**path(world), **more}


CONCEPTS = [
    Row("cohorts_api:concepts", LIST),
    Row("cohorts_api:concepts", START, method="post"),
    Row("cohorts_api:concept_import", START, method="post"),
    Row("cohorts_api:concept", READ, path=_concept),
    Row("cohorts_api:concept_members", READ, path=_concept),
    Row("cohorts_api:concept_decisions", CHANGE, method="post", path=_concept),
    Row("cohorts_api:concept_rules", CHANGE, method="post", path=_concept),
    Row("cohorts_api:concept_meaning", READ, method="post", path=_concept),
    Row("cohorts_api:concept_versions", expect_readers(422), method="post", path=_concept),
    Row("cohorts_api:concept_version", READ, path=_version),
    Row("cohorts_api:concept_version", expect_readers(404), path=_with(_concept, number="9")),
    Row("cohorts_api:concept_export", READ, path=_concept),
]
WINDOWS = [
    Row("cohorts_api:windows", LIST),
    Row("cohorts_api:windows", START, method="post"),
    Row("cohorts_api:aces_read", START, method="post"),
    Row("cohorts_api:window", READ, path=_window),
    Row("cohorts_api:window_versions", CHANGE, method="post", path=_window),
    Row("cohorts_api:window_results", READ, path=_window),
    Row("cohorts_api:window_results", CHANGE, method="post", path=_window),
    Row("cohorts_api:window_aces", expect_readers(422), path=_window),
    Row("cohorts_api:window_result", READ, path=_result),
    Row("cohorts_api:window_members", READ, path=_result),
    Row("cohorts_api:window_member_answer", CHANGE, method="post", path=_member),
    Row("cohorts_api:window_result_update", expect_readers(201), method="post", path=_result),
    *(
        Row(
            "cohorts_api:window_result_action",
            expect_readers(answer),
            method="post",
            path=_with(_result, action=action),
        )
        for action, answer in (("cancel", 409), ("retry", 409), ("other", 404))
    ),
    Row("cohorts_api:window_result_csv", READ, path=_result),
]
AS_OF = [
    Row("cohorts_api:case_as_of", READ, path=_case),
    Row("cohorts_api:as_of_reports", LIST),
    Row("cohorts_api:as_of_reports", START, method="post"),
    Row("cohorts_api:as_of_report", READ, path=_report),
    Row("cohorts_api:as_of_cells", READ, path=_report),
    Row("cohorts_api:as_of_table", READ, path=_with(_report, form="csv")),
    Row("cohorts_api:as_of_table", expect_readers(404), path=_with(_report, form="xlsx")),
    Row("cohorts_api:as_of_export", expect_admins(415), method="post", path=_report),
    Row("cohorts_api:leakage_checks", LIST),
    Row("cohorts_api:leakage_checks", START, method="post"),
    Row("cohorts_api:leakage_check", READ, path=_check),
    Row("cohorts_api:leakage_leaks", READ, path=_check),
    Row("cohorts_api:leakage_leaks", expect_readers(404), path=_rule),
    Row("cohorts_api:leakage_cells", READ, path=_rule),
    Row("cohorts_api:leakage_cells", expect_readers(404), path=_check),
    Row("cohorts_api:leakage_file", READ, path=_check),
]
ROWS = [
    *CONCEPTS,
    *WINDOWS,
    *AS_OF,
    Row("cohorts_api:trajectories", LIST),
    Row("cohorts_api:trajectories", START, method="post"),
    Row("cohorts_api:trajectory", READ, path=_saved),
    Row("cohorts_api:trajectory_table", READ, path=_with(_saved, table="lanes", form="csv")),
    Row(
        "cohorts_api:trajectory_table",
        expect_readers(404),
        path=_with(_saved, table="other", form="csv"),
    ),
    # Only the author and admins delete.
    Row("cohorts_api:trajectory", expect_admins(204), method="delete", path=_saved),
    Row("cohorts_api:attention", LIST),
    Row("cohorts_api:attention_rank", START, method="post"),
    Row("cohorts_api:attention_look", expect_readers(204), method="post", path=cohorts._item),
    Row("cohorts_api:unexplained", READ, path=_dataset),
]
