"""Runs that have ended: notify the person who launched them, and webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils import timezone

from accounts.models import Notification
from accounts.notifications.actions import notify
from jobs.webhooks.registry import Ended
from timelines.models import Run, RunCount
from timelines.runs.progress import count_runs

#: Runs that changed within this time are looked at; a round comes every minute.
_RECENT = timedelta(minutes=15)


def notify_of_ended() -> None:
    """Store a notification for each run that has just ended.

    A run that is retried ends again, which is another occasion. For a cancelled or paused run
    there is none: a person did that.
    """
    recent = RunCount.objects.filter(moved_at__gte=timezone.now() - _RECENT).values("run_id")
    runs = list(
        Run.objects.filter(
            pk__in=recent,
            created_by__isnull=False,
            cancelled_at__isnull=True,
            paused_at__isnull=True,
        )
        .select_related("study", "created_by")
        .order_by("pk")
    )
    counts = count_runs(runs)
    for run in runs:
        totals = counts[run.pk]
        if totals.active or not totals.total or totals.moved_at is None or run.created_by is None:
            continue
        unprepared = totals.preparation is not None and not totals.preparation.active
        failed = bool(totals.failed) or unprepared
        kind = Notification.Kind.RUN_FAILED if failed else Notification.Kind.RUN_FINISHED
        notify(
            recipients=[run.created_by],
            study=run.study,
            kind=kind,
            path=reverse("timelines:run", args=[run.public_id]),
            name=run.label or run.source,
            key=f"{run.public_id} {totals.moved_at:%Y%m%d%H%M%S}",
        )


def find_ended_runs(since: datetime) -> Iterator[Ended]:
    """Yield the runs that have ended since that time, in any way."""
    recent = RunCount.objects.filter(moved_at__gte=since).values("run_id")
    runs = list(Run.objects.filter(pk__in=recent).order_by("pk"))
    counts = count_runs(runs)
    for run in runs:
        totals = counts[run.pk]
        if not totals.active and totals.total and totals.moved_at is not None:
            yield Ended(run.study_id, run.public_id, totals.moved_at)
