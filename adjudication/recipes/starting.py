"""Find the object of a step if it is there, else start it.

What is there is reused if everything that its results depend on is equal: data, settings, tools,
models and prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import Max

from adjudication.judge_runs.actions import find_equal_run, start_judging
from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.planted import find_or_start_recall
from adjudication.judging.config import JudgeConfig, parse_source, preset_config
from adjudication.models import JudgeRun, Packet, RecipeStep
from adjudication.packets.actions import draw_packet, list_pairings
from adjudication.recipes.schema import Recipe
from adjudication.sampling.drawing import Design
from ehr.models import Dataset, Encounter
from jobs.models import JobState
from llm_runtime.roles import LANGUAGE_MODEL
from timelines.evaluation.plain import settings_to_plain
from timelines.evaluation.values import RHO_SWEEP, EvaluationSettings, SourceKey
from timelines.evaluations.actions import start_evaluation
from timelines.models import Evaluation, Run, RunCount
from timelines.pipeline.config import PipelineConfig, Preset, Variant
from timelines.pipeline.config import preset_config as run_preset
from timelines.runs import tools
from timelines.runs.actions import noted_cases, start_run
from timelines.runs.baselines import usual_variant
from timelines.runs.bases import based_config
from timelines.runs.versions import prompt_hashes

#: (public id of what was made or found, whether it was there before)
Made = tuple[str, bool]


class StepRefused(ValueError):
    """A step that cannot be started; the message says what to change."""

    log_safe = True


def start_step(step: RecipeStep, recipe: Recipe) -> Made:
    """Find or start what the step makes.

    Raises StepRefused and what the actions raise.
    """
    return STARTERS[RecipeStep.Kind(step.kind)](step, recipe)


def find_datasets(step: RecipeStep, recipe: Recipe) -> list[Dataset]:
    """Return the recipe's datasets in its order. Raises StepRefused."""
    found = {d.name: d for d in Dataset.objects.filter(study=step.launch.study)}
    if missing := [name for name in recipe.cohorts if name not in found]:
        raise StepRefused(f"The study has no dataset named {', '.join(missing)}.")
    return [found[name] for name in recipe.cohorts]


def _cases_of(dataset: Dataset, recipe: Recipe) -> list[str]:
    """Return the recipe's cases in the dataset; every one if it names none."""
    if not recipe.cases:
        return noted_cases(dataset)
    mine = Encounter.objects.filter(dataset=dataset, case_id__in=recipe.cases)
    return sorted(mine.values_list("case_id", flat=True))


def _start_run(step: RecipeStep, recipe: Recipe) -> Made:
    given = step.arguments
    dataset = Dataset.objects.get(study=step.launch.study, name=given["dataset"])
    base = Run.objects.get(public_id=_made(step, given["base"])) if given["base"] else None
    config = _configure(given, base)
    models = {LANGUAGE_MODEL: given["model"]} if given["model"] else None
    cases = _cases_of(dataset, recipe)
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
    usual = run_preset(Preset(given["preset"])).to_dict()
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
        if run.cases.filter(state__in=["failed", "cancelled"]).exists():
            continue
        mine = set(run.cases.values_list("encounter__case_id", flat=True))
        if wanted <= mine:
            return run
    return None


def _start_evaluation(step: RecipeStep, recipe: Recipe) -> Made:
    given = step.arguments
    datasets = find_datasets(step, recipe)
    runs = _runs(step)
    sources = list(dict.fromkeys([*(run.source for run in runs), *given["sources"]]))
    settings = EvaluationSettings(
        resamples=given["resamples"], rho_sweep=RHO_SWEEP if given["rho_sweep"] else ()
    )
    moved = RunCount.objects.filter(run__in=runs).aggregate(at=Max("moved_at"))["at"]
    equal = Evaluation.objects.filter(
        study=step.launch.study,
        reference=given["reference"],
        further_references=list(given["further_references"]),
        sources=sources,
        config=settings_to_plain(settings),
        state__in=[JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED],
    ).exclude(created_at__lt=moved or step.launch.created_at)
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


def _start_judge(step: RecipeStep, recipe: Recipe) -> Made:
    given = step.arguments
    datasets = find_datasets(step, recipe)
    chosen: dict[str, Any] = {} if given["series"] is None else {"series_limit": given["series"]}
    config = preset_config(
        given["preset"],
        seed=given["seed"],
        swap=given["swap"],
        uid_table=given["uid_table"],
        **chosen,
    )
    asked = {
        "study": step.launch.study,
        "datasets": datasets,
        "sources": _judged_sources(step, datasets),
        "judge": given["judge"],
        "model": given["model"],
        "config": config,
        "cases": list(recipe.cases),
    }
    if (found := find_equal_run(**asked)) is not None:
        return found.public_id, True
    made = start_judging(
        **asked, label=f"{recipe.name}: {step.part}"[:180], by=step.launch.created_by
    )
    return made.public_id, False


def _judged_sources(step: RecipeStep, datasets: Sequence[Dataset]) -> list[SourceKey]:
    """Return the named sources, and the first timeline of each usual run.

    Variants and other thresholds are compared only if they are named.
    """
    known = find_sources(datasets)
    usual = [
        run.source
        for run in _runs(step)
        if run.variant == usual_variant(run.backbone)
        and PipelineConfig.from_dict(run.config).own_rho is None
    ]
    names = [*step.arguments["sources"], *usual]
    return list(dict.fromkeys(parse_source(name, known) for name in names))


def _start_planted(step: RecipeStep, recipe: Recipe) -> Made:
    given = step.arguments
    found, reused = find_or_start_recall(
        study=step.launch.study,
        datasets=find_datasets(step, recipe),
        cases=list(recipe.cases),
        source=given["source"],
        judge=given["judge"],
        model=given["model"],
        config=JudgeConfig(seed=given["seed"], uid_table=given["uid_table"]),
        each=given["each"],
        by=step.launch.created_by,
    )
    return found.public_id, reused


def _start_packet(step: RecipeStep, recipe: Recipe) -> Made:
    given, launch = step.arguments, step.launch
    if launch.created_by is None:
        raise StepRefused("A packet is drawn by a person: launch the recipe as an admin.")
    run = JudgeRun.objects.get(public_id=_made(step, given["from"][0]))
    known = list_pairings(run)
    pairings = tuple(given["pairings"]) or known
    if unknown := [p for p in (*pairings, *given["second"]) if p not in known]:
        raise StepRefused(
            f"The judge run has no pairing {'; '.join(unknown)}. It has: {'; '.join(known)}."
        )
    design = Design(
        pairings=pairings,
        quotas=given["quotas"],
        cases=given["cases"],
        redistribute=given["redistribute"],
        own_per_item=dict.fromkeys(given["second"], 2),
    )
    drawn = Packet.objects.filter(
        study=launch.study, judge_run=run, seed=given["seed"], design=design.plain()
    ).first()
    if drawn is not None:
        return drawn.public_id, True
    made = draw_packet(
        study=launch.study,
        judge_run=run,
        label=given["label"],
        design=design,
        seed=given["seed"],
        by=launch.created_by,
    )
    return made.public_id, False


def _runs(step: RecipeStep) -> list[Run]:
    """Return the runs that the step reads, in the recipe's order."""
    made = {key: public_id for key, public_id in _all_made(step).items() if public_id}
    ids = [made[key] for key in step.arguments["from"] if key in made]
    found = {run.public_id: run for run in Run.objects.filter(public_id__in=ids)}
    return [found[public_id] for public_id in ids if public_id in found]


def _made(step: RecipeStep, key: str) -> str:
    made = _all_made(step).get(key, "")
    if not made:
        raise StepRefused(f"Its step {key} has made nothing.")
    return made


def _all_made(step: RecipeStep) -> dict[str, str]:
    return dict(step.launch.steps.values_list("key", "made"))


STARTERS: Mapping[RecipeStep.Kind, Callable[[RecipeStep, Recipe], Made]] = {
    RecipeStep.Kind.RUN: _start_run,
    RecipeStep.Kind.EVALUATION: _start_evaluation,
    RecipeStep.Kind.JUDGE: _start_judge,
    RecipeStep.Kind.PLANTED: _start_planted,
    RecipeStep.Kind.PACKET: _start_packet,
}
