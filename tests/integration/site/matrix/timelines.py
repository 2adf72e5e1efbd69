"""Who may see cases and runs, and who may launch, steer and repeat them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests import factories
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers, expect_signed_in
from timelines.models import CaseRun, StageRun


def make_case_run(world: World) -> CaseRun:
    """A run of the world's study whose only stage has failed."""
    encounter = find_encounter(world)
    found = CaseRun.objects.filter(encounter=encounter, run__label="matrix").first()
    if found is None:
        factories.make_note(encounter, "Fell at home.")
        found = factories.make_case_run(
            factories.make_run(encounter.dataset, label="matrix"), encounter
        )
        StageRun.objects.create(case_run=found, stage="tag", state="failed", reasons=["made up"])
    return found


def _run(world: World) -> dict[str, str]:
    return {"public_id": make_case_run(world).run.public_id}


def _launch(world: World) -> dict[str, str]:
    dataset = make_case_run(world).run.dataset
    return {
        "dataset": dataset.public_id,
        "backbone": "rules",
        "variant": "full",
        "preset": "default",
        "set_alternatives": "1",
    }


#: The active study's lists: another study's admin sees their own.
LIST = answers(
    anonymous=SIGN_IN,
    clinician=200,
    reviewer=403,
    admin=200,
    outsider=200,
    nobody=403,
    superuser=403,
)
#: Changes to a run: a clinician may look, an admin may act, another study's admin gets 404.
STEER = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=302,
    outsider=404,
    nobody=403,
    superuser=403,
)


def _acting(action: str) -> Callable[[World], Mapping[str, str]]:
    """The arguments of the address that does this to a run."""
    return lambda world: {**_run(world), "action": action}


ROWS = [
    Row("timelines:cases", LIST),
    Row("timelines:cases", LIST, method="post", data=lambda world: {"text": "fell"}),
    Row("timelines:case_find", LIST, method="post", data=lambda world: {"text": "fell"}),
    Row("timelines:case_find", expect_signed_in(405, anonymous=405)),
    Row("timelines:search", LIST),
    Row("timelines:search", LIST, method="post", data=lambda world: {"text": "fell"}),
    Row("timelines:runs", LIST),
    Row(
        "timelines:run_new",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
    ),
    # The outsider's form knows no cohort of this study: it comes back with an error and starts
    # nothing.
    Row(
        "timelines:run_new",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=302,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
        method="post",
        data=_launch,
    ),
    Row("timelines:run", CASE_PAGE, path=_run),
    *(
        Row("timelines:run_action", STEER, method="post", path=_acting(action))
        for action in ("pause", "resume", "cancel", "retry")
    ),
    Row(
        "timelines:run_action",
        expect_signed_in(405, anonymous=405),
        path=lambda world: {**_run(world), "action": "cancel"},
    ),
    # Refused with a message on the run's page, as the matrix' run has no revised timeline.
    Row(
        "timelines:study_timeline",
        STEER,
        method="post",
        path=_run,
        data=lambda world: {"reason": "why"},
    ),
    Row(
        "timelines:case_retry",
        STEER,
        method="post",
        path=lambda world: {**_run(world), "case_run_id": make_case_run(world).public_id},
    ),
]
