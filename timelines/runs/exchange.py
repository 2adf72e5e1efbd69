"""A run whose models are asked by files: what it waits for, and going on when answers are there."""

from __future__ import annotations

from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet

from accounts.audit.trail import record
from accounts.models import User
from accounts.wording import counted
from jobs.actions import wake
from jobs.hints import send_hints
from jobs.models import JobState
from llm_runtime.calls.exchange_files import write_requests
from llm_runtime.exchange import Brought, bring, posted, unanswered
from llm_runtime.models import ModelCall
from timelines.models import Run, StageRun
from timelines.runs.calls import CALLS_OWNER


def waiting_requests(run: Run) -> QuerySet[ModelCall]:
    """The requests of the run that wait for an answer from outside, of stages that are still to be
    done.
    """
    open_stages = StageRun.objects.filter(
        case_run__run=run, state__in=(JobState.QUEUED, JobState.RUNNING)
    )
    return unanswered(CALLS_OWNER, _owners(open_stages))


def stands_still(run: Run) -> bool:
    """Whether all that is under way waits for answers from outside: nothing happens before they are
    brought.
    """
    if StageRun.objects.filter(case_run__run=run, state=JobState.RUNNING).exists():
        return False
    queued = _owners(StageRun.objects.filter(case_run__run=run, state=JobState.QUEUED))
    return bool(queued) and queued == set(
        unanswered(CALLS_OWNER, queued).values_list("owner_id", flat=True)
    )


def waiting_words(run: Run) -> str:
    """For the person who follows the run; empty where it does not stand still."""
    if not stands_still(run):
        return ""
    count = waiting_requests(run).values("request").distinct().count()
    requests = counted(count, "request waits", "requests wait")
    return (
        f"{requests} for answers from outside: manage.py exchange export --run {run.public_id}"
        " --out FOLDER"
    )


def export_requests(run: Run, folder: Path, by: User | None = None) -> int:
    """Write what the run waits for; returns how many requests. Recorded, for they hold the notes.
    Raises OSError.
    """
    count = write_requests(folder, posted(waiting_requests(run)))
    _audit(run, "exchange.export", by, requests=count)
    return count


def import_answers(run: Run, folder: Path, by: User | None = None) -> Brought:
    """Store the answers in the folder and let the stages that waited for them go on. Raises
    OSError.
    """
    stages = StageRun.objects.filter(case_run__run=run)
    brought = bring(folder, CALLS_OWNER, _owners(stages), by.username if by else "")
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
