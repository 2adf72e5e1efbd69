"""Find the equal evaluation of a step, or start it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db.models import Max

from adjudication.models import RecipeStep
from adjudication.recipes.inputs import Made, find_datasets, list_runs
from adjudication.recipes.schema import Recipe
from ehr.models import Dataset
from jobs.models import JobState
from timelines.access.references import match_sources
from timelines.evaluation.plain import settings_to_plain
from timelines.evaluation.values import RHO_SWEEP, EvaluationSettings
from timelines.evaluations.actions import start_evaluation
from timelines.models import Evaluation, Timeline

ALIVE = (JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED)


def start_evaluation_step(step: RecipeStep, recipe: Recipe) -> Made:
    given = step.arguments
    datasets = find_datasets(step, recipe)
    sources = list(dict.fromkeys([*(run.source for run in list_runs(step)), *given["sources"]]))
    settings = EvaluationSettings(
        resamples=given["resamples"], rho_sweep=RHO_SWEEP if given["rho_sweep"] else ()
    )
    newest = _find_newest(datasets, [given["reference"], *given["further_references"], *sources])
    equal = Evaluation.objects.filter(
        study=step.launch.study,
        reference=given["reference"],
        further_references=list(given["further_references"]),
        sources=sources,
        config=settings_to_plain(settings),
        state__in=ALIVE,
        created_at__gt=newest,
    )
    for found in equal.order_by("-created_at") if sources else ():
        if {d.pk for d in datasets} == set(found.datasets.values_list("pk", flat=True)):
            return found.public_id, True
    made = start_evaluation(
        study=step.launch.study,
        datasets=datasets,
        reference=given["reference"],
        further_references=given["further_references"],
        sources=sources,
        settings=settings,
        label=f"{recipe.name}: {step.part}"[:200],
        by=step.launch.created_by,
    )
    return made.public_id, False


def _find_newest(datasets: Sequence[Dataset], sources: Sequence[str]) -> datetime:
    """Return when the newest timeline of these sources was stored."""
    found = Timeline.objects.filter(match_sources(sources), encounter__dataset__in=datasets)
    newest: datetime | None = found.aggregate(at=Max("created_at"))["at"]
    return newest or datetime.min.replace(tzinfo=UTC)
