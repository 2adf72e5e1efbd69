"""Tasks of a worker: an id on the queue; the row decides whether there is work."""

from __future__ import annotations

from collections.abc import Sequence

from celery import shared_task

from cohorts.attention.ranking import execute_ranking
from cohorts.windows.evaluating import execute_result
from jobs.hints import Message, post


@shared_task(name="cohorts.tasks.rank_attention")
def rank_attention(ranking_id: int) -> None:
    """Rank what needs a look in a study if the job still waits."""
    execute_ranking(ranking_id)


def send_ranking_hints(ranking_ids: Sequence[int]) -> None:
    """One message a ranking, on the queue that needs no model."""
    post(Message(rank_attention, pk, "pipeline") for pk in ranking_ids)


@shared_task(name="cohorts.tasks.evaluate_window")
def evaluate_window(result_id: int) -> None:
    """Evaluate a window over a dataset if the job still waits."""
    execute_result(result_id)


def send_window_hints(result_ids: Sequence[int]) -> None:
    """One message a result, on the queue that needs no model."""
    post(Message(evaluate_window, pk, "pipeline") for pk in result_ids)
