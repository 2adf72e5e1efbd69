"""Find the judge run, recall or packet of a step, or make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjudication.judge_runs.actions import find_equal_run, start_judging
from adjudication.judge_runs.data import find_sources
from adjudication.judge_runs.planted import find_or_start_recall
from adjudication.judging.config import JudgeConfig, parse_source, preset_config
from adjudication.judging.validation import FIXED_TOLERANCE
from adjudication.models import JudgeRun, Packet, RecipeStep
from adjudication.packets.actions import draw_packet, list_pairings
from adjudication.recipes.inputs import (
    Made,
    StepRefused,
    find_datasets,
    find_made,
    list_runs,
    match_names,
)
from adjudication.recipes.schema import Recipe
from adjudication.sampling.drawing import Design
from ehr.models import Dataset
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey
from timelines.pipeline.config import PipelineConfig
from timelines.runs.baselines import usual_variant

TEXT_ONLY = TimelineKind.TEXT_ONLY


def configure_judge(given: Mapping[str, Any]) -> JudgeConfig:
    """Return a judge's settings; what its part leaves open is the preset's."""
    chosen: dict[str, Any] = {} if given["series"] is None else {"series_limit": given["series"]}
    if given["tolerance"] == "fixed":
        chosen["tolerance"] = FIXED_TOLERANCE
    if given["uid_table"] is not None:
        chosen["uid_table"] = given["uid_table"]
    return preset_config(
        given["preset"],
        seed=given["seed"],
        swap=given["swap"],
        **chosen,
    )


def start_judge_step(step: RecipeStep, recipe: Recipe) -> Made:
    given = step.arguments
    datasets = find_datasets(step, recipe)
    asked = {
        "study": step.launch.study,
        "datasets": datasets,
        "sources": _judged_sources(step, datasets),
        "judge": given["judge"],
        "model": given["model"],
        "config": configure_judge(given),
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

    With `text_only`, its text-only one too. Variants and other thresholds are compared only if they
    are named.
    """
    known = find_sources(datasets)
    usual = [
        run.source
        for run in list_runs(step)
        if run.variant == usual_variant(run.backbone)
        and PipelineConfig.from_dict(run.config).own_rho is None
    ]
    texts = [
        key
        for key in known
        if step.arguments["text_only"] and key.source in usual and key.kind == TEXT_ONLY
    ]
    named = [parse_source(name, known) for name in (*step.arguments["sources"], *usual)]
    return list(dict.fromkeys([*named, *texts]))


def start_planted_step(step: RecipeStep, recipe: Recipe) -> Made:
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


def start_packet_step(step: RecipeStep, recipe: Recipe) -> Made:
    given, launch = step.arguments, step.launch
    if launch.created_by is None:
        raise StepRefused("A packet is drawn by a person: launch the recipe as an admin.")
    run = JudgeRun.objects.get(public_id=find_made(step, given["from"][0]))
    known = list_pairings(run)
    pairings = match_names(given["pairings"], known, "pairing") if given["pairings"] else known
    design = Design(
        pairings=tuple(pairings),
        quotas=given["quotas"],
        cases=given["cases"],
        redistribute=given["redistribute"],
        own_per_item=dict.fromkeys(match_names(given["second"], pairings, "pairing"), 2),
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
