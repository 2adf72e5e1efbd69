"""Judge runs that have ended, for webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from adjudication.judge_runs.progress import count_games
from adjudication.models import JudgeRun
from adjudication.models.judge_runs import JudgeCount
from jobs.webhooks.registry import Ended


def find_ended_judge_runs(since: datetime) -> Iterator[Ended]:
    """Yield the judge runs that have ended since that time, in any way."""
    recent = JudgeCount.objects.filter(moved_at__gte=since).values("run_id")
    runs = list(JudgeRun.objects.filter(pk__in=recent))
    counts = count_games(runs)
    for run in runs:
        totals = counts[run.pk]
        if not totals.under_way and totals.total and totals.moved_at is not None:
            yield Ended(run.study_id, run.public_id, totals.moved_at)
