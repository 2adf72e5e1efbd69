"""Tasks of a worker: an id on the queue; the row decides whether there is work."""

from __future__ import annotations

from collections.abc import Sequence

from celery import shared_task

from cohorts.attention.ranking import execute_ranking
from cohorts.concepts.proposing import execute_proposing
from jobs.hints import Message, post


@shared_task(name="cohorts.tasks.rank_attention")
def rank_attention(ranking_id: int) -> None:
    """Rank what needs a look in a study if the job still waits."""
    execute_ranking(ranking_id)


def send_ranking_hints(ranking_ids: Sequence[int]) -> None:
    """One message a ranking, on the queue that needs no model."""
    post(Message(rank_attention, pk, "pipeline") for pk in ranking_ids)


@shared_task(name="cohorts.tasks.propose_members")
def propose_members(job_id: int) -> None:
    """Let the rules of a study propose members if the job still waits."""
    execute_proposing(job_id)


def send_proposing_hints(job_ids: Sequence[int]) -> None:
    """One message a job, on the queue that needs no model."""
    post(Message(propose_members, pk, "pipeline") for pk in job_ids)
