"""Messages to the judges' workers: a game's id on the queue `judge`. The row decides whether there is work."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from celery import shared_task
from django.db.models import QuerySet
from kombu.exceptions import OperationalError

from adjudication.actions import execute_game
from jobs.limits import hard_limit

logger = logging.getLogger(__name__)


@shared_task(name="adjudication.tasks.run_game")
def run_game(game_id: int) -> None:
    """Judge the game if it still waits."""
    execute_game(game_id)


def send_game_hints(game_ids: Sequence[int]) -> None:
    """One message a game. Without a broker the rows wait for the sweeper."""
    try:
        for pk in game_ids:
            run_game.apply_async((pk,), queue="judge", retry=False, time_limit=hard_limit(asks_models=True))
    except (OperationalError, OSError):
        logger.warning("the broker did not take the hints for %s games; the sweeper sends them again", len(game_ids))


def runnable_games(games: QuerySet[Any]) -> QuerySet[Any]:
    """Those of judge runs that are not paused."""
    return games.filter(run__paused_at__isnull=True)
