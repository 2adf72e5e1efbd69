"""A launch as its page lists it: steps, cost so far, time left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.urls import reverse
from django.utils import timezone

from adjudication.judge_runs.calls import find_calls as find_game_calls
from adjudication.judge_runs.planted import find_recall_calls
from adjudication.judge_runs.progress import count_games
from adjudication.models import Game, JudgeRun, PlantedRecall, RecipeLaunch, RecipeStep
from ehr.presentation.wording import duration_words
from llm_runtime.accounting import Spent, spent_by_owner, total
from timelines.models import Run, StageRun
from timelines.runs.calls import find_calls
from timelines.runs.progress import count_runs

State = RecipeStep.State
#: Kind of step → (name of the address of what it made, badge).
_ADDRESSES = {
    RecipeStep.Kind.RUN: "timelines:run",
    RecipeStep.Kind.EVALUATION: "timelines:evaluation",
    RecipeStep.Kind.JUDGE: "adjudication:judge_run",
    RecipeStep.Kind.PACKET: "adjudication:packet",
    RecipeStep.Kind.PLANTED: "adjudication:planted_recall",
}
BADGES = {
    State.WAITING: "waiting",
    State.RUNNING: "running",
    State.DONE: "done",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step with its progress in words and the address of what it made."""

    step: RecipeStep
    badge: str
    address: str
    progress: str
    took: str


@dataclass(frozen=True, slots=True)
class LaunchLines:
    """All lines of a launch."""

    steps: tuple[StepLine, ...]
    ended: int
    time_left: str = ""
    #: Of what the launch made itself, not of what was there.
    spent: Spent = field(default_factory=Spent)

    @property
    def seconds(self) -> str:
        """Return how long language models worked, in words."""
        return duration_words(self.spent.seconds)


def list_lines(launch: RecipeLaunch, now: datetime | None = None) -> LaunchLines:
    """Return the lines of a launch's steps."""
    now = now or timezone.now()
    steps = list(launch.steps.all())
    runs = {
        r.public_id: r for r in Run.objects.filter(public_id__in=_made(steps, RecipeStep.Kind.RUN))
    }
    judges = {
        r.public_id: r
        for r in JudgeRun.objects.filter(public_id__in=_made(steps, RecipeStep.Kind.JUDGE))
    }
    words = {**_count_stages(runs), **_count_games(judges)}
    lines = tuple(_line(step, words.get(step.made, ""), now) for step in steps)
    ended = sum(step.state in (State.DONE, State.FAILED, State.CANCELLED) for step in steps)
    return LaunchLines(
        lines,
        ended,
        _time_left(launch, steps, ended, now),
        _sum_spent(steps),
    )


def _made(steps: Sequence[RecipeStep], kind: RecipeStep.Kind) -> list[str]:
    return [step.made for step in steps if step.kind == kind and step.made]


def _count_stages(runs: dict[str, Run]) -> dict[str, str]:
    counts = count_runs(list(runs.values()))
    return {
        public_id: f"{counts[run.pk].succeeded} of {counts[run.pk].total} stages"
        for public_id, run in runs.items()
    }


def _count_games(runs: dict[str, JudgeRun]) -> dict[str, str]:
    counts = count_games(list(runs.values()))
    return {
        public_id: f"{counts[run.pk].done} of {counts[run.pk].total} games"
        for public_id, run in runs.items()
    }


def _line(step: RecipeStep, progress: str, now: datetime) -> StepLine:
    state = State(step.state)
    address = reverse(_ADDRESSES[RecipeStep.Kind(step.kind)], args=[step.made]) if step.made else ""
    took = ""
    if step.started_at is not None and not step.reused:
        took = duration_words(((step.ended_at or now) - step.started_at).total_seconds())
    return StepLine(step, BADGES[state], address, progress, took)


def _time_left(launch: RecipeLaunch, steps: Sequence[RecipeStep], ended: int, now: datetime) -> str:
    """Return an estimate from the ended steps; "" if nothing is known."""
    worked = [s for s in steps if s.ended_at and s.started_at and not s.reused]
    left = len(steps) - ended
    if launch.state != RecipeLaunch.State.RUNNING or not worked or not left:
        return ""
    per_step = (now - launch.created_at).total_seconds() / len(worked)
    return f"about {duration_words(per_step * left)} left"


def _sum_spent(steps: Sequence[RecipeStep]) -> Spent:
    """Add up the calls of what the steps made."""
    made = [step.made for step in steps if step.made and not step.reused]
    asking = Run.objects.filter(public_id__in=made).exclude(language_models={})
    judging = JudgeRun.objects.filter(public_id__in=made).exclude(language_models={})
    stages = StageRun.objects.filter(case_run__run__in=asking)
    games = Game.objects.filter(run__in=judging)
    planted = PlantedRecall.objects.filter(public_id__in=made).exclude(language_models={})
    calls = (find_calls(stages), find_game_calls(games), find_recall_calls(planted))
    found = [spent_by_owner(each) for each in calls]
    return total(one for owners in found for one in owners.values())
