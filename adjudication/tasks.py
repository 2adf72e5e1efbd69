"""Messages to workers: a game's id on the queue `judge`.

The row decides whether there is work.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from celery import shared_task
from django.db.models import QuerySet
from django.urls import reverse

from adjudication.anchors.actions import anchor_chains
from adjudication.anchors.keys import AnchorError
from adjudication.judge_runs.actions import execute_game
from adjudication.judge_runs.planted import execute_recall
from adjudication.judge_runs.preparing import execute_preparation
from adjudication.models import Game
from adjudication.packets.deadlines import remind_reviewers
from adjudication.ratings.figures import execute_figures, follow_game
from adjudication.recipes.advancing import advance_all
from adjudication.recipes.report.writing import execute_report
from adjudication.review.guess_test import execute_guess_test
from jobs.hints import Message, post, pull_hints
from jobs.limits import hard_limit
from jobs.registry import JobPage

logger = logging.getLogger(__name__)


@shared_task(name="adjudication.tasks.run_game")
def run_game(game_id: int) -> None:
    """Judge the game if it is still queued."""
    if execute_game(game_id) is not None:
        follow_game(game_id)
    pull_hints(Game, game_id)


def send_game_hints(game_ids: Sequence[int]) -> None:
    """Send one message per game.

    Without a broker the rows wait for the sweeper.
    """
    post(Message(run_game, pk, "judge", hard_limit(asks_models=True)) for pk in game_ids)


@shared_task(name="adjudication.tasks.prepare_judge_run")
def prepare_judge_run(preparation_id: int) -> None:
    """Add the games of a judge run if they are not yet added."""
    execute_preparation(preparation_id)


def send_preparation_hints(preparation_ids: Sequence[int]) -> None:
    """Send one message per judge run, on the queue that needs no model."""
    post(Message(prepare_judge_run, pk, "pipeline") for pk in preparation_ids)


@shared_task(name="adjudication.tasks.measure_planted")
def measure_planted(recall_id: int) -> None:
    """Measure a judge on planted differences if the job still waits."""
    execute_recall(recall_id)


def send_recall_hints(recall_ids: Sequence[int]) -> None:
    """Send one message per measurement, on the queue of judges."""
    post(Message(measure_planted, pk, "judge", hard_limit(asks_models=True)) for pk in recall_ids)


@shared_task(name="adjudication.tasks.write_study_report")
def write_study_report(report_id: int) -> None:
    """Write the report of a launch if the job still waits."""
    execute_report(report_id)


def send_study_report_hints(report_ids: Sequence[int]) -> None:
    """Send one message per report, on the queue that needs no model."""
    post(Message(write_study_report, pk, "pipeline") for pk in report_ids)


@shared_task(name="adjudication.tasks.advance_recipes")
def advance_recipes() -> None:
    """Carry on the launches of recipes."""
    advance_all()


@shared_task(name="adjudication.tasks.compute_figures")
def compute_figures(figures_id: int) -> None:
    """Compute the figures of a judge run if the job waits."""
    execute_figures(figures_id)


def send_figures_hints(figures_ids: Sequence[int]) -> None:
    """Send one message per job, on the queue that needs no model."""
    limit = hard_limit(asks_models=False)
    post(Message(compute_figures, pk, "pipeline", limit) for pk in figures_ids)


@shared_task(name="adjudication.tasks.run_guess_test")
def run_guess_test(test_id: int) -> None:
    """Run the guess test of a packet if the job waits."""
    execute_guess_test(test_id)


def send_guess_test_hints(test_ids: Sequence[int]) -> None:
    """Send one message per test, on the queue that needs no model."""
    limit = hard_limit(asks_models=False)
    post(Message(run_guess_test, pk, "pipeline", limit) for pk in test_ids)


@shared_task(name="adjudication.tasks.remind_of_reviews")
def remind_of_reviews() -> None:
    """Remind reviewers of reviews that are due."""
    remind_reviewers()


@shared_task(name="adjudication.tasks.anchor")
def anchor() -> None:
    """Append the heads of the chains to the anchor file."""
    try:
        anchor_chains()
    except AnchorError as error:
        logger.error("the chains were not anchored: %s", error)


def find_run_games(game_id: int) -> QuerySet[Any]:
    """Return the games of the same run."""
    return Game.objects.filter(run__in=Game.objects.filter(pk=game_id).values("run")).order_by("pk")


def find_judge_run_page(job: Any) -> JobPage:
    """Return the page of the judge run of a game or a preparation."""
    return JobPage(reverse("adjudication:judge_run", args=[job.run.public_id]), job.run.study)


def find_runnable_games(games: QuerySet[Any]) -> QuerySet[Any]:
    """Return those of judge runs that are not paused."""
    return games.filter(run__paused_at__isnull=True)
