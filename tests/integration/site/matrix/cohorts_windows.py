"""Access to windows, their results and their members."""

from __future__ import annotations

from cohorts.models import Window, WindowMember, WindowResult, WindowVersion
from jobs.models import JobState
from tests.integration.site.matrix.cohorts import ACT_ON
from tests.integration.site.matrix.ehr import find_encounter
from tests.integration.site.matrix.timelines import LIST
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers

READ_ONE = answers(
    anonymous=SIGN_IN,
    clinician=200,
    reviewer=403,
    admin=200,
    outsider=404,
    nobody=403,
    superuser=403,
)
MANAGE = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=302,
    outsider=404,
    nobody=403,
    superuser=403,
)
YAML = "name: Matrix\nanchor: admission\n"


def _version(world: World) -> WindowVersion:
    window, _ = Window.objects.get_or_create(study=world.study, name="Matrix")
    version, _ = WindowVersion.objects.get_or_create(
        window=window, number=1, defaults={"yaml": YAML}
    )
    return version


def _window(world: World) -> dict[str, str]:
    return {"public_id": _version(world).window.public_id}


def _dataset(world: World) -> dict[str, str]:
    dataset = find_encounter(world).dataset.public_id
    return {"dataset": dataset, "first": "note", "second": "record"}


def _member(world: World) -> WindowMember:
    """A member of a result that is done."""
    result, _ = WindowResult.objects.get_or_create(
        version=_version(world),
        dataset=find_encounter(world).dataset,
        defaults={
            "first": "note",
            "second": "record",
            "state": JobState.SUCCEEDED,
            "report": {"run": ""},
        },
    )
    member, _ = WindowMember.objects.get_or_create(
        result=result, encounter=find_encounter(world), defaults={"first": "yes", "second": "no"}
    )
    return member


def _result(world: World) -> dict[str, str]:
    return {"public_id": _member(world).result.public_id}


def _number(world: World) -> dict[str, str]:
    return _result(world) | {"number": str(_member(world).pk)}


def _answer(world: World) -> dict[str, str]:
    return {"status": "yes", "reason": "seen"}


ROWS = [
    Row("cohorts:windows", LIST),
    Row("cohorts:window_new", LIST),
    Row("cohorts:window_new", LIST, method="post"),
    Row("cohorts:window", READ_ONE, path=_window),
    Row("cohorts:window_edit", READ_ONE, path=_window),
    Row("cohorts:window_edit", READ_ONE, method="post", path=_window),
    Row("cohorts:window_archive", MANAGE, method="post", path=_window),
    Row("cohorts:window_evaluate", ACT_ON, method="post", path=_window, data=_dataset),
    Row("cohorts:window_aces", ACT_ON, path=_window),
    Row("cohorts:window_result", READ_ONE, path=_result),
    Row("cohorts:window_result_update", ACT_ON, method="post", path=_result),
    Row("cohorts:window_result_retry", ACT_ON, method="post", path=_result),
    Row("cohorts:window_result_cancel", ACT_ON, method="post", path=_result),
    Row("cohorts:window_result_csv", READ_ONE, path=_result),
    Row("cohorts:window_member_answer", ACT_ON, method="post", path=_number, data=_answer),
]
