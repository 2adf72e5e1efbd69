"""Tasks of a worker: an id on the queue; the row decides whether there is work."""

from __future__ import annotations

from collections.abc import Sequence

from celery import shared_task

from cohorts.asof.documenting import execute_documenting
from cohorts.asof.jobs import execute_check, execute_report
from cohorts.attention.ranking import execute_ranking
from cohorts.concepts.proposing import execute_proposing
from cohorts.windows.evaluating import execute_result
from jobs.hints import Message, post


@shared_task(name="cohorts.tasks.rank_attention")
def rank_attention(ranking_id: int) -> None:
    """Rank what needs a look in a study if the job still waits."""
    execute_ranking(ranking_id)


def send_ranking_hints(ranking_ids: Sequence[int]) -> None:
    """One message a ranking, on the queue that needs no model."""
    post(Message(rank_attention, pk, "pipeline") for pk in ranking_ids)


@shared_task(name="cohorts.tasks.document_run")
def document_run(job_id: int) -> None:
    """Store when the entries of a run were documented if the job still waits."""
    execute_documenting(job_id)


@shared_task(name="cohorts.tasks.report_as_of")
def report_as_of(report_id: int) -> None:
    """Count what was known at an hour if the report still waits."""
    execute_report(report_id)


@shared_task(name="cohorts.tasks.check_leakage")
def check_leakage(check_id: int) -> None:
    """Check features or a rule if the check still waits."""
    execute_check(check_id)


def send_documenting_hints(job_ids: Sequence[int]) -> None:
    """One message a run, on the queue that needs no model."""
    post(Message(document_run, pk, "pipeline") for pk in job_ids)


def send_report_hints(report_ids: Sequence[int]) -> None:
    """One message an as-of report, on the queue that needs no model."""
    post(Message(report_as_of, pk, "pipeline") for pk in report_ids)


def send_check_hints(check_ids: Sequence[int]) -> None:
    """One message a leakage check, on the queue that needs no model."""
    post(Message(check_leakage, pk, "pipeline") for pk in check_ids)


@shared_task(name="cohorts.tasks.propose_members")
def propose_members(job_id: int) -> None:
    """Let the rules of a study propose members if the job still waits."""
    execute_proposing(job_id)


def send_proposing_hints(job_ids: Sequence[int]) -> None:
    """One message a job, on the queue that needs no model."""
    post(Message(propose_members, pk, "pipeline") for pk in job_ids)


@shared_task(name="cohorts.tasks.evaluate_window")
def evaluate_window(result_id: int) -> None:
    """Evaluate a window over a dataset if the job still waits."""
    execute_result(result_id)


def send_window_hints(result_ids: Sequence[int]) -> None:
    """One message a result, on the queue that needs no model."""
    post(Message(evaluate_window, pk, "pipeline") for pk in result_ids)
