"""Do a launch's work in this process, or wait for workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from celery import current_app
from kombu.exceptions import OperationalError

from adjudication.judge_runs.following import judge_inline
from adjudication.judge_runs.planted import execute_recall
from adjudication.models import JudgeRun, PlantedRecall, RecipeLaunch, RecipeStep
from adjudication.recipes.advancing import ENDED, advance
from timelines.evaluations.actions import execute_evaluation
from timelines.models import Evaluation, Run
from timelines.runs.following import (
    ANSWER_SECONDS,
    PATIENCE_SECONDS,
    POLL_SECONDS,
    NoWorker,
    work_inline,
)

Say = Callable[[str], None]


def follow_launch(launch: RecipeLaunch, say: Say) -> None:
    """Carry the launch on until it has ended; workers do the work.

    Raises NoWorker if nothing ends for a while and no worker answers.
    """
    last, moved = "", time.monotonic()
    while not advance(launch.pk):
        words = progress_words(launch)
        if words != last:
            say(words)
            last, moved = words, time.monotonic()
        elif time.monotonic() - moved > PATIENCE_SECONDS:
            if not _is_answered():
                raise NoWorker("No worker answers. Start workers, or repeat this with --inline.")
            moved = time.monotonic()
        time.sleep(POLL_SECONDS)
    say(progress_words(launch))


def work_launch(launch: RecipeLaunch, say: Say) -> None:
    """Do the launch's work in this process until it has ended.

    Other workers may help.
    """
    while not advance(launch.pk):
        for step in launch.steps.filter(state=RecipeStep.State.RUNNING):
            say(f"{step.key} ({progress_words(launch)})")
            _WORK[RecipeStep.Kind(step.kind)](step.made, say)
        # Another worker may have what is left.
        time.sleep(POLL_SECONDS / 10)


def progress_words(launch: RecipeLaunch) -> str:
    """Return how many steps have ended, in words."""
    steps = launch.steps.all()
    return f"{steps.filter(state__in=ENDED).count()} of {steps.count()} steps have ended"


def _is_answered() -> bool:
    try:
        return bool(current_app.control.ping(timeout=ANSWER_SECONDS))
    except OperationalError:
        return False


def _evaluate(public_id: str, say: Say) -> None:
    execute_evaluation(Evaluation.objects.get(public_id=public_id).pk)


def _measure(public_id: str, say: Say) -> None:
    execute_recall(PlantedRecall.objects.get(public_id=public_id).pk)


_WORK: Mapping[RecipeStep.Kind, Callable[[str, Say], None]] = {
    RecipeStep.Kind.RUN: lambda made, say: work_inline(Run.objects.get(public_id=made), say),
    RecipeStep.Kind.EVALUATION: _evaluate,
    RecipeStep.Kind.JUDGE: lambda made, say: judge_inline(
        JudgeRun.objects.get(public_id=made), say
    ),
    RecipeStep.Kind.PLANTED: _measure,
    # A packet is there as soon as it is drawn.
    RecipeStep.Kind.PACKET: lambda made, say: None,
}
