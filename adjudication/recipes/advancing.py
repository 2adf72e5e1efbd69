"""Carry a launch on: start ready steps, and note those that have ended.

Every call does what can be done now and may be repeated at any time. A step's object is made and
noted in one transaction, so that a killed worker leaves neither a second object nor a lost one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import transaction
from django.utils import timezone

from adjudication.models import RecipeLaunch, RecipeStep
from adjudication.recipes.following import find_outcome
from adjudication.recipes.reading import read_recipe
from adjudication.recipes.schema import Recipe
from adjudication.recipes.starting import start_step
from jobs.errors import describe_error
from llm_runtime.base import ProviderError

logger = logging.getLogger(__name__)
State = RecipeStep.State
#: Steps in these states change no more.
ENDED = frozenset({State.DONE, State.FAILED, State.CANCELLED})
#: What the actions raise for a step that cannot be done as it is asked for.
REFUSALS = (ValueError, LookupError, ObjectDoesNotExist, PermissionDenied, ProviderError)


def advance_all() -> None:
    """Carry every launch on that is under way.

    A fault of one launch does not stop the others; it is tried again the next time.
    """
    under_way = RecipeLaunch.objects.filter(state=RecipeLaunch.State.RUNNING).order_by("pk")
    for pk in list(under_way.values_list("pk", flat=True)):
        try:
            advance(pk)
        except Exception:
            logger.exception("a recipe launch could not be carried on")


def advance(launch_id: int) -> bool:
    """Carry one launch on; return whether it has ended.

    Does nothing while another process carries it on.
    """
    while _advance_once(launch_id):
        continue
    return not RecipeLaunch.objects.filter(pk=launch_id, state=RecipeLaunch.State.RUNNING).exists()


@transaction.atomic
def _advance_once(launch_id: int) -> bool:
    """Note what has ended, start one ready step; return whether one was."""
    launch = (
        RecipeLaunch.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("version", "study", "created_by")
        .filter(pk=launch_id, state=RecipeLaunch.State.RUNNING)
        .first()
    )
    if launch is None:
        return False
    steps = list(launch.steps.all())
    for step in steps:
        if step.state == State.RUNNING:
            _note(step, *find_outcome(step))
    states = {step.key: State(step.state) for step in steps}
    ready = next((s for s in steps if s.state == State.WAITING and _is_ready(s, states)), None)
    if ready is not None:
        _start(ready, launch, read_recipe(launch.version.text), states)
        return True
    if all(state in ENDED for state in states.values()):
        _end(launch, states)
    return False


def _is_ready(step: RecipeStep, states: Mapping[str, State]) -> bool:
    return all(states[key] in ENDED for key in step.needs)


def _start(
    step: RecipeStep, launch: RecipeLaunch, recipe: Recipe, states: Mapping[str, State]
) -> None:
    """Start the step, or note why it cannot be done."""
    failed = [key for key in step.needs if states[key] is not State.DONE]
    if failed and (step.kind in ("run", "packet") or len(failed) == len(step.needs)):
        _note(step, State.FAILED, f"It needs {', '.join(failed)}, which did not end well.")
        return
    step.launch = launch
    try:
        with transaction.atomic():
            step.made, step.reused = start_step(step, recipe)
    except REFUSALS as error:
        logger.warning("a step of recipe launch %s was refused", launch.public_id)
        _note(step, State.FAILED, _say(error))
        return
    step.state, step.started_at = State.RUNNING, timezone.now()
    step.save(update_fields=["made", "reused", "state", "started_at"])
    _note(step, *find_outcome(step))


def _say(error: Exception) -> str:
    return str(error) if getattr(error, "log_safe", False) else describe_error(error)


def _note(step: RecipeStep, state: State, reason: str = "") -> None:
    """Store a step's new state, if it is new."""
    if state == step.state:
        return
    step.state, step.reason = state, reason
    step.ended_at = timezone.now() if state in ENDED else None
    step.save(update_fields=["state", "reason", "ended_at"])


def _end(launch: RecipeLaunch, states: Mapping[str, State]) -> None:
    good = all(state is State.DONE for state in states.values())
    RecipeLaunch.objects.filter(pk=launch.pk).update(
        state=RecipeLaunch.State.DONE if good else RecipeLaunch.State.FAILED,
        ended_at=timezone.now(),
    )
