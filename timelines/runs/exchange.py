"""Runs whose models are asked by files.

They wait for answers and continue when these are imported.
"""

from __future__ import annotations

from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet

from accounts.audit.trail import record
from accounts.models import User
from accounts.wording import format_count
from jobs.actions import wake
from jobs.hints import send_hints
from jobs.models import JobState
from llm_runtime.calls.exchange_files import write_requests
from llm_runtime.exchange import AnswerReport, build_requests, find_unanswered, store_answers
from llm_runtime.models import ModelCall
from timelines.models import Run, StageRun
from timelines.runs.calls import CALLS_OWNER


def waiting_requests(run: Run) -> QuerySet[ModelCall]:
    """Return the run's requests without an answer from outside.

    They are requests of stages that are not finished.
    """
    open_stages = StageRun.objects.filter(
        case_run__run=run, state__in=(JobState.QUEUED, JobState.RUNNING)
    )
    return find_unanswered(CALLS_OWNER, _owners(open_stages))


def is_waiting_outside(run: Run) -> bool:
    """Return whether every active stage waits for answers from outside.

    Then nothing happens before they are imported.
    """
    if StageRun.objects.filter(case_run__run=run, state=JobState.RUNNING).exists():
        return False
    queued = _owners(StageRun.objects.filter(case_run__run=run, state=JobState.QUEUED))
    return bool(queued) and queued == set(
        find_unanswered(CALLS_OWNER, queued).values_list("owner_id", flat=True)
    )


def waiting_words(run: Run) -> str:
    """Return a sentence for the person who follows the run.

    Empty if the run does not wait for answers from outside.
    """
    if not is_waiting_outside(run):
        return ""
    count = waiting_requests(run).values("request").distinct().count()
    requests = format_count(count, "request waits", "requests wait")
    return (
        f"{requests} for answers from outside: manage.py exchange export --run {run.public_id}"
        " --out FOLDER"
    )


def export_requests(run: Run, folder: Path, by: User | None = None) -> int:
    """Write the requests that the run waits for; return how many.

    The export is audited, because requests contain the notes. Raises OSError.
    """
    count = write_requests(folder, build_requests(waiting_requests(run)))
    _audit(run, "exchange.export", by, requests=count)
    return count


def import_answers(run: Run, folder: Path, by: User | None = None) -> AnswerReport:
    """Store the answers of the folder and wake the stages that waited.

    Raises OSError.
    """
    stages = StageRun.objects.filter(case_run__run=run)
    brought = store_answers(folder, CALLS_OWNER, _owners(stages), by.username if by else "")
    with transaction.atomic():
        asking = ModelCall.objects.filter(
            owner_type=CALLS_OWNER, owner_id__in=_owners(stages), request_id__in=brought.answered
        )
        waiting = stages.filter(
            pk__in={int(owner) for owner in asking.values_list("owner_id", flat=True)},
            state=JobState.QUEUED,
        )
        ids = list(waiting.values_list("pk", flat=True))
        wake(jobs=waiting)
        send_hints(StageRun, ids)
        counts = {"known": brought.known, "left": brought.left, "refused": len(brought.refused)}
        _audit(run, "exchange.import", by, answers=len(brought.answered), **counts)
    return brought


def _owners(stages: QuerySet[StageRun]) -> set[str]:
    return {str(pk) for pk in stages.values_list("pk", flat=True)}


def _audit(run: Run, action: str, by: User | None, **detail: int) -> None:
    record(
        actor=by,
        study=run.study,
        action=action,
        object_type="timelines.run",
        object_id=run.public_id,
        detail=detail,
    )
