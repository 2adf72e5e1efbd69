"""Messages to the workers: an id on the stage's queue.

The row decides whether there is work (`timelines.runs.stages.execution`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from celery import shared_task
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.urls import reverse

from jobs.hints import Message, post, pull_hints
from jobs.limits import hard_limit
from jobs.registry import JobPage
from timelines.case_state import CaseState
from timelines.evaluations.actions import execute_evaluation
from timelines.exports.actions import delete_expired_exports
from timelines.exports.writing import execute_export
from timelines.models import Run, StageBatch, StageRun
from timelines.runs.bases import is_copied
from timelines.runs.ended import notify_of_ended
from timelines.runs.preparing import execute_preparation
from timelines.runs.stages.execution import execute_stage
from timelines.runs.tools import asks_models, find_queue
from timelines.search.indexing import execute_indexing
from timelines.search.meaning import execute_meaning_search


@shared_task(name="timelines.tasks.run_stage")
def run_stage(stage_run_id: int) -> None:
    """Execute the stage if it still waits."""
    execute_stage(stage_run_id)
    pull_hints(StageRun, stage_run_id)


def send_stage_hints(stage_run_ids: Sequence[int]) -> None:
    """Send one message a stage, on the queue for its kind of work.

    Without a broker the rows wait for the sweeper.
    """
    found = (
        StageRun.objects.filter(pk__in=stage_run_ids).select_related("case_run__run").order_by("pk")
    )
    stages = found.annotate(begun=Exists(StageBatch.objects.filter(stage_run=OuterRef("pk"))))
    post(map(_message, stages))


def _message(stage: Any) -> Message:
    run = stage.case_run.run
    queue = _find_queue(run, stage.stage, begun=stage.begun)
    return Message(run_stage, stage.pk, queue, hard_limit(asks_models=asks_models(run.backbone)))


def count_stage_queues(stages: QuerySet[Any]) -> dict[str, int]:
    """Return how many of the stages wait for each queue."""
    begun = Exists(StageBatch.objects.filter(stage_run=OuterRef("pk")))
    groups = (
        stages.order_by()
        .annotate(begun=begun)
        .values_list("case_run__run_id", "stage", "begun")
        .annotate(number=Count("pk"))
    )
    runs = Run.objects.in_bulk({run_id for run_id, *_ in groups})
    counted: dict[str, int] = {}
    for run_id, stage, has_begun, number in groups:
        queue = _find_queue(runs[run_id], stage, begun=has_begun)
        counted[queue] = counted.get(queue, 0) + number
    return counted


def _find_queue(run: Run, stage: str, *, begun: bool) -> str:
    return find_queue(run.backbone, stage, kept=is_copied(run, stage), begun=begun)


def find_run_page(run: Run) -> JobPage:
    """Return the page on which the jobs of a run are retried."""
    return JobPage(reverse("timelines:run", args=[run.public_id]), run.study)


def runnable_stages(stages: QuerySet[Any]) -> QuerySet[Any]:
    """Those of runs that are not paused."""
    return stages.filter(case_run__run__paused_at__isnull=True)


def find_waiting_stages(stage_run_id: int) -> QuerySet[Any]:
    """The stages that wait in the run of this one, case after case."""
    run = StageRun.objects.filter(pk=stage_run_id).values("case_run__run_id")
    return StageRun.objects.filter(
        case_run__run_id=Subquery(run), case_run__state=CaseState.WAITING
    ).order_by("case_run_id")


@shared_task(name="timelines.tasks.run_evaluation")
def run_evaluation(evaluation_id: int) -> None:
    """Do the evaluation if it still waits."""
    execute_evaluation(evaluation_id)


def send_evaluation_hints(evaluation_ids: Sequence[int]) -> None:
    """One message an evaluation, on the queue of the workers that embed."""
    post(Message(run_evaluation, pk, "embed") for pk in evaluation_ids)


@shared_task(name="timelines.tasks.write_export")
def write_export(export_id: int) -> None:
    """Write the export if it still waits."""
    execute_export(export_id)


def send_export_hints(export_ids: Sequence[int]) -> None:
    """One message an export, on the queue that needs no model."""
    post(Message(write_export, pk, "pipeline") for pk in export_ids)


def runnable_exports(exports: QuerySet[Any]) -> QuerySet[Any]:
    """Those that are not paused."""
    return exports.filter(paused_at__isnull=True)


@shared_task(name="timelines.tasks.delete_expired")
def delete_expired() -> None:
    """Delete the files of expired exports."""
    delete_expired_exports()


@shared_task(name="timelines.tasks.index_mentions")
def index_mentions(indexing_id: int) -> None:
    """Embed the mentions of a run if it still waits."""
    execute_indexing(indexing_id)


def send_indexing_hints(indexing_ids: Sequence[int]) -> None:
    """One message a run, on the queue of the workers that embed."""
    post(Message(index_mentions, pk, "embed") for pk in indexing_ids)


@shared_task(name="timelines.tasks.embed_search")
def embed_search(search_id: int) -> None:
    """Embed what a person searches for if it still waits."""
    execute_meaning_search(search_id)


def send_search_hints(search_ids: Sequence[int]) -> None:
    """One message a search, on the queue of the workers that embed."""
    post(Message(embed_search, pk, "embed") for pk in search_ids)


@shared_task(name="timelines.tasks.prepare_run")
def prepare_run(preparation_id: int) -> None:
    """Add the cases of a run if it still waits for them."""
    execute_preparation(preparation_id)


def send_preparation_hints(preparation_ids: Sequence[int]) -> None:
    """One message a run, on the queue that needs no model."""
    post(Message(prepare_run, pk, "pipeline") for pk in preparation_ids)


@shared_task(name="timelines.tasks.notify_of_runs")
def notify_of_runs() -> None:
    """Notify people that a run of theirs has ended."""
    notify_of_ended()
