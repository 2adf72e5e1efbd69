"""What a launch has made, by the steps' keys: the input of the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from adjudication.models import (
    JudgeRun,
    Packet,
    PlantedRecall,
    RecipeLaunch,
    RecipeStep,
)
from adjudication.recipes.reading import read_recipe
from adjudication.recipes.schema import Recipe as RecipeText
from timelines.models import Evaluation, Run

MODELS = {
    RecipeStep.Kind.RUN: Run,
    RecipeStep.Kind.EVALUATION: Evaluation,
    RecipeStep.Kind.JUDGE: JudgeRun,
    RecipeStep.Kind.PLANTED: PlantedRecall,
    RecipeStep.Kind.PACKET: Packet,
}


@dataclass(frozen=True)
class StudyResults:
    """The objects of a launch that still exist, by the keys of their steps."""

    launch: RecipeLaunch
    recipe: RecipeText
    steps: tuple[RecipeStep, ...]
    runs: dict[str, Run]
    evaluations: dict[str, Evaluation]
    judge_runs: dict[str, JudgeRun]
    planted: dict[str, PlantedRecall]
    packets: dict[str, Packet]


def load_results(launch: RecipeLaunch) -> StudyResults:
    """Load everything that the launch has made or reused."""
    steps = tuple(launch.steps.all())
    found = {kind: _load(steps, kind) for kind in MODELS}
    return StudyResults(
        launch,
        read_recipe(launch.version.text),
        steps,
        runs=found[RecipeStep.Kind.RUN],
        evaluations=found[RecipeStep.Kind.EVALUATION],
        judge_runs=found[RecipeStep.Kind.JUDGE],
        planted=found[RecipeStep.Kind.PLANTED],
        packets=found[RecipeStep.Kind.PACKET],
    )


def _load(steps: tuple[RecipeStep, ...], kind: RecipeStep.Kind) -> dict[str, Any]:
    """Return the objects by key. Two steps may have the same one."""
    mine = {step.key: step.made for step in steps if step.kind == kind and step.made}
    found: Iterable[Any] = MODELS[kind]._default_manager.filter(public_id__in=mine.values())
    by_id = {made.public_id: made for made in found}
    return {key: by_id[made] for key, made in mine.items() if made in by_id}
