"""Runs whose models are asked by files.

They wait for answers and continue when these are imported. Other apps register their kinds of runs
(`register_exchange`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.wording import format_count
from jobs.actions import wake
from jobs.hints import send_hints
from jobs.models import JobState
from llm_runtime.calls.calling import Ledger
from llm_runtime.calls.exchange_files import write_index, write_requests
from llm_runtime.exchange.answers import (
    AnswerReport,
    build_requests,
    find_unanswered,
    store_answers,
)
from llm_runtime.models import ModelCall


@dataclass(frozen=True)
class AskingRun:
    """The jobs of a run that ask models, and the owner type of their calls."""

    public_id: str
    owner_type: str
    jobs: QuerySet[Any]

    def owners(self, **jobs: Any) -> Q:
        """Return the condition on calls that these jobs of the run made."""
        ids = [str(pk) for pk in self.jobs.filter(**jobs).values_list("pk", flat=True)]
        return Q(owner_type=self.owner_type, owner_id__in=ids)


@dataclass(frozen=True)
class ExchangeRun(AskingRun):
    """A run of any kind, as the exchange sees it.

    `describe` returns the progress in words, `is_active` whether any work is left, `work_inline`
    does the available work in this process.
    """

    study: Study
    object_type: str
    describe: Callable[[], str]
    is_active: Callable[[], bool]
    work_inline: Callable[[Callable[[str], None]], None]


@dataclass(frozen=True)
class ExchangeKind:
    """A kind of runs.

    `owner_type` is that of the calls of its jobs. `replay` repeats the part of a job that asks
    models, over another ledger, and stores nothing.
    """

    owner_type: str
    find_run: Callable[[str], ExchangeRun | None]
    replay: Callable[[int, Ledger], None]


_KINDS: dict[str, ExchangeKind] = {}


def register_exchange(kind: ExchangeKind) -> None:
    """Let runs of this kind be exchanged. Called once at start."""
    _KINDS[kind.owner_type] = kind


def find_kinds() -> dict[str, ExchangeKind]:
    """Return the registered kinds by owner type."""
    return dict(_KINDS)


def find_run(public_id: str) -> ExchangeRun | None:
    """Return the run of any kind with that public id."""
    found = (kind.find_run(public_id) for kind in _KINDS.values())
    return next((run for run in found if run is not None), None)


def waiting_requests(run: AskingRun) -> QuerySet[ModelCall]:
    """Return the requests of unfinished jobs that have no answer yet."""
    return find_unanswered(run.owners(state__in=(JobState.QUEUED, JobState.RUNNING)))


def is_waiting_outside(run: AskingRun) -> bool:
    """Return whether every active job waits for answers from outside.

    Then nothing happens before they are imported.
    """
    if run.jobs.filter(state=JobState.RUNNING).exists():
        return False
    queued = {str(pk) for pk in run.jobs.filter(state=JobState.QUEUED).values_list("pk", flat=True)}
    waiting = find_unanswered(run.owners(state=JobState.QUEUED))
    return bool(queued) and queued == set(waiting.values_list("owner_id", flat=True))


def waiting_words(run: AskingRun) -> str:
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


def export_requests(run: ExchangeRun, folder: Path, by: User | None = None) -> int:
    """Write the requests that the run waits for; return how many.

    The export is audited, because requests contain the notes. Raises OSError.
    """
    count = write_requests(folder, build_requests(waiting_requests(run)))
    _audit(run, "exchange.export", by, requests=count)
    return count


def import_answers(run: ExchangeRun, folder: Path, by: User | None = None) -> AnswerReport:
    """Store the answers of the folder and wake the jobs that waited.

    Raises OSError.
    """
    owners = run.owners()
    report = store_answers(folder, owners, by.username if by else "")
    write_index(folder)
    with transaction.atomic():
        asking = ModelCall.objects.filter(owners, request_id__in=report.answered)
        waiting = run.jobs.filter(
            pk__in={int(owner) for owner in asking.values_list("owner_id", flat=True)},
            state=JobState.QUEUED,
        )
        ids = list(waiting.values_list("pk", flat=True))
        wake(jobs=waiting)
        send_hints(run.jobs.model, ids)
        counts = {"known": report.known, "left": report.left, "refused": len(report.refused)}
        _audit(run, "exchange.import", by, answers=len(report.answered), **counts)
    return report


def _audit(run: ExchangeRun, action: str, by: User | None, **detail: int) -> None:
    record(
        actor=by,
        study=run.study,
        action=action,
        object_type=run.object_type,
        object_id=run.public_id,
        detail=detail,
    )
