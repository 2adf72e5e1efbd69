"""Save recipes, launch them, cancel and retry launches."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.permissions import check_user_can_manage_study
from adjudication.models import Recipe, RecipeLaunch, RecipeStep, RecipeVersion
from adjudication.recipes.connected import find_connected
from adjudication.recipes.planning import plan_steps
from adjudication.recipes.reading import digest, read_recipe
from ehr.models import Dataset
from timelines.runs.versions import code_revision


class RecipeRefused(ValueError):
    """A recipe or launch that cannot be done now; the message says what to do."""

    log_safe = True
    retryable = False


@transaction.atomic
def save_recipe(*, study: Study, text: str, by: User | None) -> RecipeVersion:
    """Store a text as the next version of the recipe of its name.

    The newest version is returned unchanged if the text is equal. Raises RecipeInvalid, NotAllowed.
    """
    _check(by, study)
    read = read_recipe(text)
    recipe, _ = Recipe.objects.select_for_update().get_or_create(study=study, name=read.name)
    newest = recipe.versions.first()
    sha256 = digest(text)
    if newest is not None and newest.sha256 == sha256:
        return newest
    made = RecipeVersion.objects.create(
        recipe=recipe,
        number=newest.number + 1 if newest else 1,
        text=text,
        sha256=sha256,
        created_by=by,
    )
    _audit("recipe.save", study, recipe.public_id, by, version=made.number)
    return made


@transaction.atomic
def launch_recipe(*, version: RecipeVersion, by: User | None) -> RecipeLaunch:
    """Plan the steps of a version; `adjudication.recipes.advancing` does them.

    Raises RecipeRefused, NotAllowed.
    """
    study = version.recipe.study
    _check(by, study)
    read = read_recipe(version.text)
    known = set(Dataset.objects.filter(study=study).values_list("name", flat=True))
    if missing := [name for name in read.cohorts if name not in known]:
        there = ", ".join(sorted(known)) or "none yet"
        raise RecipeRefused(
            f"The study has no dataset named {', '.join(missing)}. It has: {there}."
            " Change cohorts, or import it."
        )
    steps = plan_steps(read, find_connected())
    if not steps:
        raise RecipeRefused(
            "No step can be done: every run asks for a connected model, and none is connected."
            " The Models page shows how to connect one."
        )
    launch = RecipeLaunch.objects.create(
        version=version, study=study, code_revision=code_revision(), created_by=by
    )
    RecipeStep.objects.bulk_create(
        RecipeStep(
            launch=launch,
            position=number,
            key=step.key,
            part=step.part,
            kind=step.kind,
            needs=list(step.needs),
            arguments=dict(step.arguments),
        )
        for number, step in enumerate(steps)
    )
    _audit("recipe.launch", study, launch.public_id, by, steps=len(steps))
    return launch


@transaction.atomic
def cancel_launch(*, launch: RecipeLaunch, by: User) -> int:
    """Start no further step; what is under way continues.

    Returns how many steps were waiting. Raises RecipeRefused if it has ended, NotAllowed.
    """
    mine = _lock(launch, by)
    if mine.state != RecipeLaunch.State.RUNNING:
        raise RecipeRefused("This launch has ended, so there is nothing to cancel.")
    waiting = mine.steps.filter(state=RecipeStep.State.WAITING)
    count = waiting.update(state=RecipeStep.State.CANCELLED, ended_at=timezone.now())
    RecipeLaunch.objects.filter(pk=mine.pk).update(
        state=RecipeLaunch.State.CANCELLED, ended_at=timezone.now()
    )
    launch.refresh_from_db()
    _audit("recipe.cancel", mine.study, mine.public_id, by, steps=count)
    return count


@transaction.atomic
def retry_launch(*, launch: RecipeLaunch, by: User) -> int:
    """Do again what failed or was cancelled, and what rests on it.

    Returns how many steps. Raises RecipeRefused if nothing failed, NotAllowed.
    """
    mine = _lock(launch, by)
    again = mine.steps.filter(state__in=(RecipeStep.State.FAILED, RecipeStep.State.CANCELLED))
    count = again.update(
        state=RecipeStep.State.WAITING, made="", reason="", started_at=None, ended_at=None
    )
    if not count:
        raise RecipeRefused("No step failed or was cancelled, so there is nothing to do again.")
    RecipeLaunch.objects.filter(pk=mine.pk).update(state=RecipeLaunch.State.RUNNING, ended_at=None)
    launch.refresh_from_db()
    _audit("recipe.retry", mine.study, mine.public_id, by, steps=count)
    return count


def _lock(launch: RecipeLaunch, by: User) -> RecipeLaunch:
    _check(by, launch.study)
    return RecipeLaunch.objects.select_for_update().get(pk=launch.pk)


def _check(by: User | None, study: Study) -> None:
    """A person must manage the study; a command has no person."""
    if by is not None:
        check_user_can_manage_study(by, study)


def _audit(action: str, study: Study, object_id: str, by: User | None, **detail: int) -> None:
    record(
        actor=by,
        study=study,
        action=action,
        object_type="adjudication.recipe",
        object_id=object_id,
        detail=detail,
    )
