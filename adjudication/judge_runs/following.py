"""Follow a judge run from a terminal, or do its work in this process."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import close_old_connections
from django.db.models import Count, QuerySet

from adjudication.judge_runs.actions import CALLS_OWNER, IN_PART, UNJUDGED, execute_game
from adjudication.judge_runs.preparing import execute_preparation
from adjudication.models import JudgePreparation, JudgeRun
from jobs.actions import end_abandoned_jobs
from jobs.leases.claims import due_condition, expired_condition
from jobs.models import JobState
from llm_runtime.exchange import runs as exchange

ACTIVE = (JobState.BLOCKED, JobState.QUEUED, JobState.RUNNING)
POLL_SECONDS = 1.0


def judge_inline(run: JudgeRun, say: Callable[[str], None]) -> None:
    """Judge the run's games in this process until none is active.

    Return early if all wait for answers from outside. Other workers may help.
    """
    shown = ""
    while is_under_way(run):
        end_abandoned_games(run)
        if (words := progress_words(run)) != shown:
            say(words)
            shown = words
        if _prepare(run):
            continue
        run.refresh_from_db(fields=["paused_at"])
        due = run.games.filter(due_condition() | expired_condition()).order_by("pk")
        game = due.first() if run.paused_at is None else None
        if game is None and (words := waiting_words(run)):
            say(words)
            return
        if game is None or execute_game(game.pk) is None:
            time.sleep(POLL_SECONDS)
        close_old_connections()
    say(progress_words(run))


def asking_run(run: JudgeRun) -> exchange.AskingRun:
    """Return the games that may wait for answers from outside."""
    return exchange.AskingRun(run.public_id, CALLS_OWNER, run.games.all())


def waiting_words(run: JudgeRun) -> str:
    """Return how many answers from outside the run waits for; "" if for none."""
    return (
        ""
        if find_preparation(run).filter(state__in=ACTIVE).exists()
        else (exchange.waiting_words(asking_run(run)))
    )


def end_abandoned_games(run: JudgeRun) -> None:
    """End the jobs of the run whose worker is gone."""
    end_abandoned_jobs(jobs=find_preparation(run))
    end_abandoned_jobs(jobs=run.games.all())


def find_preparation(run: JudgeRun) -> QuerySet[JudgePreparation]:
    """Return the job that adds the games; none for an old run."""
    return JudgePreparation.objects.filter(run=run)


def is_under_way(run: JudgeRun) -> bool:
    """Return whether games are still to be added or judged."""
    return any(
        jobs.filter(state__in=ACTIVE).exists() for jobs in (find_preparation(run), run.games.all())
    )


def _prepare(run: JudgeRun) -> bool:
    """Add the run's games in this process if they are not; True if any work."""
    waiting = find_preparation(run).filter(due_condition() | expired_condition()).first()
    return waiting is not None and execute_preparation(waiting.pk, tell_workers=False) is not None


def progress_words(run: JudgeRun) -> str:
    """Return, for example, "34 of 36 games judged, 1 running, 1 unjudged"."""
    states = dict(run.games.values_list("state").annotate(n=Count("pk")))
    unjudged = run.games.filter(UNJUDGED).count()
    words = [f"{states.get(JobState.SUCCEEDED, 0)} of {sum(states.values())} games judged"]
    if unprepared := find_preparation(run).exclude(state=JobState.SUCCEEDED).first():
        words.insert(0, f"{unprepared.prepared} of {unprepared.total} cases prepared")
    failed = states.get(JobState.FAILED, 0) - unjudged
    rest = (
        ("running", states.get(JobState.RUNNING, 0)),
        ("judged in part", run.games.filter(IN_PART).count()),
        ("unjudged", unjudged),
        ("failed", failed),
    )
    return ", ".join(words + [f"{n} {name}" for name, n in rest if n])
