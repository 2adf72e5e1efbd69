"""What a step starts from: datasets, cases, and what earlier steps made."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from django.db.models import Exists, OuterRef

from adjudication.models import RecipeStep
from adjudication.recipes.schema import Recipe
from ehr.models import Dataset, Encounter
from timelines.models import Run, Timeline
from timelines.runs.actions import noted_cases

#: (public id of what was made or found, whether it was there before)
Made = tuple[str, bool]


class StepRefused(ValueError):
    """A step that cannot be started; the message says what to change."""

    log_safe = True


def find_datasets(step: RecipeStep, recipe: Recipe) -> list[Dataset]:
    """Return the recipe's datasets in its order. Raises StepRefused."""
    found = {d.name: d for d in Dataset.objects.filter(study=step.launch.study)}
    if missing := [name for name in recipe.cohorts if name not in found]:
        raise StepRefused(f"The study has no dataset named {', '.join(missing)}.")
    return [found[name] for name in recipe.cohorts]


def find_cases(dataset: Dataset, recipe: Recipe) -> list[str]:
    """Return the recipe's cases in the dataset; every one if it names none."""
    if not recipe.cases:
        return noted_cases(dataset)
    mine = Encounter.objects.filter(dataset=dataset, case_id__in=recipe.cases)
    return sorted(mine.values_list("case_id", flat=True))


def list_runs(step: RecipeStep) -> list[Run]:
    """Return the runs that the step reads, in the recipe's order.

    Runs that failed in every case are left out; the report lists their steps. Raises StepRefused if
    none is left.
    """
    made = {key: public_id for key, public_id in _all_made(step).items() if public_id}
    ids = [made[key] for key in step.arguments["from"] if key in made]
    there = Exists(Timeline.objects.filter(case_run__run=OuterRef("pk")))
    runs = Run.objects.filter(there, public_id__in=ids)
    found = {run.public_id: run for run in runs}
    if ids and not found:
        raise StepRefused("None of its runs made a timeline.")
    return [found[public_id] for public_id in ids if public_id in found]


def find_made(step: RecipeStep, key: str) -> str:
    """Return the public id of what another step made. Raises StepRefused."""
    made = _all_made(step).get(key, "")
    if not made:
        raise StepRefused(f"Its step {key} has made nothing.")
    return made


def _all_made(step: RecipeStep) -> dict[str, str]:
    return dict(step.launch.steps.values_list("key", "made"))


def match_names(wanted: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    """Return the known names that fit, in their order; `*` fits any words.

    Raises StepRefused for a name that fits none.
    """
    fits = {name: [one for one in known if fnmatchcase(one, name)] for name in wanted}
    if unknown := [name for name, found in fits.items() if not found]:
        raise StepRefused(
            f"There is no {what} {'; '.join(unknown)}. There are: {'; '.join(known) or 'none'}."
        )
    chosen = {one for found in fits.values() for one in found}
    return [name for name in known if name in chosen]
