"""Access to evaluations and their files, and to starting and cancelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobs.models import JobState
from tests import factories
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.timelines import LIST, STEER
from tests.integration.site.matrix.world import SIGN_IN, TIMES, Row, World, answers
from tests.made_report import make_report
from tests.worlds.evaluated import make_evaluation, store_case
from timelines.domain import TimelineKind
from timelines.models import Evaluation, Timeline


def _evaluation(world: World, state: str = JobState.SUCCEEDED) -> Evaluation:
    """Return a finished evaluation of the world's case.

    With another state it waits and has no figures.
    """
    found = Evaluation.objects.filter(study=world.study, state=state).first()
    if found is None:
        encounter = find_encounter(world)
        done = state == JobState.SUCCEEDED
        found = make_evaluation(
            world.study, [encounter.dataset], report=make_report() if done else None, state=state
        )
        store_case(found, encounter)
    return found


def _path(world: World) -> dict[str, str]:
    return {"public_id": _evaluation(world).public_id}


def _acting(action: str, state: JobState) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {"public_id": _evaluation(world, state).public_id, "action": action}


def _start(world: World) -> dict[str, str]:
    """A form that compares one bare timeline with a reference."""
    encounter = find_encounter(world)
    if not Timeline.objects.filter(encounter=encounter).exists():
        inventory = factories.make_inventory(factories.make_note(encounter, "Fell at home."))
        factories.make_timeline(
            inventory,
            {factories.make_occurrence(inventory, "Fell"): TIMES[0]},
            kind=TimelineKind.REFERENCE,
        )
        factories.seal(inventory)
        factories.make_bare_timeline(encounter, {"Fell": TIMES[1]}, source="other")
    chosen = {
        "datasets": encounter.dataset.public_id,
        "reference": "reference",
        "bases": "span",
        "method": "greedy",
    }
    return {**chosen, "threshold": "0.1", "resamples": "10"}


ROWS = [
    Row("timelines:evaluations", LIST),
    Row(
        "timelines:evaluation_new",
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
        "timelines:evaluation_new",
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
        data=_start,
    ),
    Row("timelines:evaluation", CASE_PAGE, path=_path),
    Row(
        "timelines:evaluation_table",
        CASE_PAGE,
        path=lambda world: {**_path(world), "name": "main", "format": "csv"},
    ),
    Row(
        "timelines:evaluation_case",
        CASE_PAGE,
        path=lambda world: {**_path(world), "case_id": find_encounter(world).public_id},
    ),
    Row("timelines:evaluation_funnel", CASE_PAGE, path=_path),
    Row(
        "timelines:evaluation_action", STEER, method="post", path=_acting("cancel", JobState.QUEUED)
    ),
    Row(
        "timelines:evaluation_action", STEER, method="post", path=_acting("retry", JobState.FAILED)
    ),
]
