"""Find the object of a step if it is there, else start it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adjudication.models import RecipeStep
from adjudication.recipes.evaluations import start_evaluation_step
from adjudication.recipes.inputs import Made
from adjudication.recipes.judging import start_judge_step, start_packet_step, start_planted_step
from adjudication.recipes.runs import start_reconstruction
from adjudication.recipes.schema import Recipe

STARTERS: Mapping[RecipeStep.Kind, Callable[[RecipeStep, Recipe], Made]] = {
    RecipeStep.Kind.RUN: start_reconstruction,
    RecipeStep.Kind.EVALUATION: start_evaluation_step,
    RecipeStep.Kind.JUDGE: start_judge_step,
    RecipeStep.Kind.PLANTED: start_planted_step,
    RecipeStep.Kind.PACKET: start_packet_step,
}


def start_step(step: RecipeStep, recipe: Recipe) -> Made:
    """Find or start what the step makes.

    Raises StepRefused and what the actions raise.
    """
    return STARTERS[RecipeStep.Kind(step.kind)](step, recipe)
