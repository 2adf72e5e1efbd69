"""Messages to the workers: an id on the stage's queue. The row decides whether there is work (`timelines.stages`)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from celery import shared_task
from django.db.models import Exists, OuterRef, QuerySet
from kombu.exceptions import OperationalError

from jobs.limits import hard_limit
from timelines.evaluation_actions import execute_evaluation
from timelines.models import StageBatch, StageRun
from timelines.run_bases import is_kept
from timelines.stages import execute_stage
from timelines.tools import asks_models, queue_of

logger = logging.getLogger(__name__)


@shared_task(name="timelines.tasks.run_stage")
def run_stage(stage_run_id: int) -> None:
    """Execute the stage if it still waits."""
    execute_stage(stage_run_id)


def send_stage_hints(stage_run_ids: Sequence[int]) -> None:
    """One message a stage, on the queue where its kind of work is done. Without a broker the rows wait for the sweeper."""
    found = StageRun.objects.filter(pk__in=stage_run_ids).select_related("case_run__run").order_by("pk")
    stages = found.annotate(begun=Exists(StageBatch.objects.filter(stage_run=OuterRef("pk"))))
    try:
        for stage in stages:
            run = stage.case_run.run
            queue = queue_of(run.backbone, stage.stage, kept=is_kept(run, stage.stage), begun=stage.begun)
            limit = hard_limit(asks_models=asks_models(run.backbone))
            run_stage.apply_async((stage.pk,), queue=queue, retry=False, time_limit=limit)
    except (OperationalError, OSError):
        logger.warning("the broker did not take the hints for %s stages; the sweeper sends them again", len(stage_run_ids))


def runnable_stages(stages: QuerySet[Any]) -> QuerySet[Any]:
    """Those of runs that are not paused."""
    return stages.filter(case_run__run__paused_at__isnull=True)


@shared_task(name="timelines.tasks.run_evaluation")
def run_evaluation(evaluation_id: int) -> None:
    """Do the evaluation if it still waits."""
    execute_evaluation(evaluation_id)


def send_evaluation_hints(evaluation_ids: Sequence[int]) -> None:
    """One message an evaluation, on the queue of the workers that embed."""
    try:
        for pk in evaluation_ids:
            run_evaluation.apply_async((pk,), queue="embed", retry=False)
    except (OperationalError, OSError):
        logger.warning("the broker did not take the hints for %s evaluations; the sweeper sends them again", len(evaluation_ids))
