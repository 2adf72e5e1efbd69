"""Follow a run from a terminal.

Report its progress, check whether workers listen, or do the work in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from celery import current_app
from django.db import close_old_connections
from django.db.models import Exists, OuterRef
from kombu.exceptions import OperationalError

from jobs.actions import end_abandoned_jobs
from jobs.leases.claims import due_condition, expired_condition
from jobs.models import JobState
from llm_runtime.exchange import runs as exchange
from timelines.models import Run, RunPreparation, Stage, StageBatch, StageRun
from timelines.runs.bases import is_copied
from timelines.runs.calls import CALLS_OWNER
from timelines.runs.preparing import execute_preparation
from timelines.runs.progress import RunTotals, count_run
from timelines.runs.stages.execution import execute_stage
from timelines.runs.tools import find_queue

POLL_SECONDS = 1.0
#: How long a run may make no progress without any worker that answers.
PATIENCE_SECONDS = 45.0
ANSWER_SECONDS = 1.0


class NoWorker(RuntimeError):
    """No worker answers on a queue with waiting stages.

    The message names the queues.
    """

    log_safe = True


@dataclass(frozen=True)
class Failure:
    """A stage that failed, for the person who started the run."""

    case_id: str
    stage: str
    reasons: tuple[str, ...]


def follow(run: Run, say: Callable[[str], None]) -> None:
    """Report changes until nothing of the run is active.

    While stages wait and none runs, workers are asked whether they listen. A paused run is waited
    for. Return early if the run waits for answers from outside. Raises NoWorker.
    """
    last = ""
    moved = time.monotonic()
    while (counts := _load_totals(run)).active:
        words = progress_words(counts)
        if words != last:
            say(words)
            last, moved = words, time.monotonic()
        elif words := waiting_words(run):
            say(words)
            return
        elif not _works(counts) and time.monotonic() - moved > PATIENCE_SECONDS:
            run.refresh_from_db(fields=["paused_at"])
            if run.paused_at is None and (silent := silent_queues(run)):
                raise NoWorker(f"no worker answers on {', '.join(silent)}")
            moved = time.monotonic()
        time.sleep(POLL_SECONDS)
    if (words := progress_words(count_run(run))) != last:
        say(words)


def work_inline(run: Run, say: Callable[[str], None]) -> None:
    """Execute the run's stages in this process until nothing is active.

    Return early if all wait for answers from outside. Other workers may help.
    """
    waiting = StageRun.objects.filter(
        due_condition() | expired_condition(), case_run__run=run, case_run__run__paused_at=None
    ).order_by("case_run_id", "pk")
    last, counted = "", -POLL_SECONDS
    while True:
        stage = waiting.first()
        # Counting all stages takes as long as a short one: not after each.
        if stage is None or time.monotonic() - counted >= POLL_SECONDS:
            counts, counted = _load_totals(run), time.monotonic()
            if (words := progress_words(counts)) != last:
                say(words)
                last = words
            if not counts.active:
                return
            if counts.preparing and execute_preparation(run.preparation.pk) is not None:
                continue
        if stage is None and (words := waiting_words(run)):
            say(words)
            return
        if stage is None or execute_stage(stage.pk) is None:
            time.sleep(POLL_SECONDS)
        close_old_connections()


def asking_run(run: Run) -> exchange.AskingRun:
    """Return the stages that may wait for answers from outside."""
    return exchange.AskingRun(
        run.public_id, CALLS_OWNER, StageRun.objects.filter(case_run__run=run)
    )


def waiting_words(run: Run) -> str:
    """Return how many answers from outside the run waits for; "" if for none."""
    return exchange.waiting_words(asking_run(run))


def _load_totals(run: Run) -> RunTotals:
    """Return the counts after ending stages whose worker is gone.

    The sweeper may not be running here.
    """
    end_abandoned_jobs(jobs=RunPreparation.objects.filter(run=run))
    end_abandoned_jobs(jobs=StageRun.objects.filter(case_run__run=run))
    return count_run(run)


def _works(counts: RunTotals) -> bool:
    preparing = counts.preparation is not None and counts.preparation.state == JobState.RUNNING
    return preparing or bool(counts.stages.get(JobState.RUNNING))


def progress_words(counts: RunTotals) -> str:
    """Return the progress in words.

    Example: "34 of 84 stages done, 2 running (tag occurrences, revise jointly), 1 failed".
    """
    words = [f"{counts.succeeded} of {counts.total} stages done"]
    if counts.preparation is not None:
        words.insert(
            0, f"{counts.preparation.prepared} of {counts.preparation.total} cases prepared"
        )
    running = {
        stage: states[JobState.RUNNING]
        for stage, states in counts.by_stage.items()
        if JobState.RUNNING in states
    }
    if running:
        names = sorted(Stage(stage).label.lower() for stage in running)
        words.append(f"{sum(running.values())} running ({', '.join(names)})")
    for state in (JobState.FAILED, JobState.CANCELLED):
        if n := counts.stages.get(state, 0):
            words.append(f"{n} {state.label.lower()}")
    return ", ".join(words)


def silent_queues(run: Run) -> list[str]:
    """Return the queues with waiting stages but without a worker.

    All of them if the broker does not answer.
    """
    queued = StageRun.objects.filter(case_run__run=run, state=JobState.QUEUED).order_by()
    begun = Exists(StageBatch.objects.filter(stage_run=OuterRef("pk")))
    waiting = queued.annotate(begun=begun).values_list("stage", "begun").distinct()
    needed = {"pipeline"} if count_run(run).preparing else set()
    needed |= {
        find_queue(run.backbone, stage, kept=is_copied(run, stage), begun=begun)
        for stage, begun in waiting
    }
    try:
        answers = current_app.control.inspect(timeout=ANSWER_SECONDS).active_queues() or {}
    except (OperationalError, OSError):
        return sorted(needed)
    return sorted(needed - {queue["name"] for queues in answers.values() for queue in queues})


def failures(run: Run) -> list[Failure]:
    """Every failed stage with its reasons, by case."""
    failed = StageRun.objects.filter(case_run__run=run, state=JobState.FAILED).select_related(
        "case_run__encounter"
    )
    return [
        Failure(s.case_run.encounter.case_id, Stage(s.stage).label, tuple(s.reasons))
        for s in failed.order_by("case_run__encounter__case_id")
    ]
