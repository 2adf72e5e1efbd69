"""Find the equal run of a step, or start it.

A run is reused if everything that its results depend on is equal: cases, settings, tools, models
and prompts. A case that is imported again is another case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjudication.models import RecipeStep
from adjudication.recipes.inputs import Made, StepRefused, find_cases, find_made
from adjudication.recipes.schema import Recipe
from ehr.models import Dataset
from jobs.models import JobState
from llm_runtime.roles import LANGUAGE_MODEL
from timelines.case_state import ENDED
from timelines.models import Run, RunPreparation
from timelines.pipeline.config import PipelineConfig, Preset, Variant, preset_config
from timelines.runs import tools
from timelines.runs.actions import start_run
from timelines.runs.bases import based_config
from timelines.runs.preparing import cases_to_add
from timelines.runs.versions import prompt_hashes


def start_reconstruction(step: RecipeStep, recipe: Recipe) -> Made:
    given = step.arguments
    dataset = Dataset.objects.get(study=step.launch.study, name=given["dataset"])
    base = Run.objects.get(public_id=find_made(step, given["base"])) if given["base"] else None
    config = _configure(given, base)
    models = {LANGUAGE_MODEL: given["model"]} if given["model"] else None
    cases = find_cases(dataset, recipe)
    if not cases:
        raise StepRefused(f"No case of {dataset.name} has a note.")
    if found := find_equal_reconstruction(dataset, given["backbone"], config, models, base, cases):
        return found.public_id, True
    run = start_run(
        dataset=dataset,
        backbone=given["backbone"],
        config=config,
        cases=cases if recipe.cases else None,
        label=f"{recipe.name}: {step.key}"[:180],
        based_on=base,
        models=models,
        by=step.launch.created_by,
    )
    return run.public_id, False


def _configure(given: Mapping[str, Any], base: Run | None) -> PipelineConfig:
    """Return the settings of a run: those of its base, or of its preset."""
    own: dict[str, Any] = {**given["settings"], "variant": given["variant"]}
    if given["rho"] is not None:
        own["rho_threshold"] = given["rho"]
    if base is not None:
        return based_config(base, **own)
    usual = preset_config(Preset(given["preset"])).to_dict()
    return PipelineConfig.from_dict({**usual, **own})


def find_equal_reconstruction(
    dataset: Dataset,
    backbone: str,
    config: PipelineConfig,
    models: Mapping[str, str] | None,
    base: Run | None,
    cases: Sequence[str],
) -> Run | None:
    """Return the newest run with the same settings and tools over these cases.

    It may be under way, but is neither cancelled nor failed in a case.
    """
    recorded = tools.describe_models(backbone, models)
    names = tools.tool_names(backbone, config, models or {}, recorded)
    if config.variant is Variant.NO_RERANKER:
        names = {**names, "reranker": "none"}
    runs = Run.objects.filter(
        dataset=dataset,
        backbone=backbone,
        config=config.to_dict(),
        tools=names,
        language_models=recorded,
        based_on=base,
        cancelled_at__isnull=True,
    )
    if recorded:
        runs = runs.filter(prompt_hashes=prompt_hashes())
    wanted = set(cases)
    for run in runs.order_by("-created_at"):
        ended_badly = run.cases.filter(state__in=ENDED).exists()
        if not ended_badly and wanted <= _list_cases(run):
            return run
    return None


def _list_cases(run: Run) -> set[str]:
    """Return the cases that the run has or is about to have."""
    found = set(run.cases.values_list("encounter__case_id", flat=True))
    under_way = RunPreparation.objects.filter(
        run=run, state__in=(JobState.QUEUED, JobState.RUNNING)
    )
    for preparation in under_way:
        found |= set(cases_to_add(preparation).values_list("case_id", flat=True))
    return found
