"""Jobs that do not go on by themselves, and how to try them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from accounts.permissions import NotAllowed
from jobs import actions, registry
from jobs.hints import send_hints
from jobs.leases.clock import database_time
from jobs.models import ClaimableJob, JobState
from jobs.registry import JobKind, JobPage

#: The sweeper ends or repeats a job much sooner after its lease.
OVERDUE = timedelta(minutes=2)
#: Failures of the last days are listed, at most so many, chosen from so many.
RECENT = timedelta(days=7)
SHOWN = 20
LOOKED_AT = 500
_SHOWN_FIELDS = ("reasons", "finished_at", "lease_expires_at")


@dataclass(frozen=True, slots=True)
class StuckJob:
    """A job that needs a person.

    Without a page of its own, `may_retry` says that the operator can queue it again.
    """

    kind: str
    job_id: int
    why: str
    reason: str
    since: Any
    page: JobPage | None

    @property
    def may_retry(self) -> bool:
        """Return True if no page of a study decides on it."""
        return self.page is None and self.why == FAILED


LOST = "Its worker stopped answering, and nothing took it over"
FAILED = "Its attempts are used up"


def find_stuck() -> list[StuckJob]:
    """Return jobs that stay as they are, lost ones first, newest first."""
    found = [stuck for kind in registry.kinds() for stuck in _find_of_kind(kind)]
    found.sort(key=lambda one: (one.why == LOST, one.since), reverse=True)
    return found[:SHOWN]


@transaction.atomic
def retry_stuck(*, kind: str, job_id: int, by: User) -> None:
    """Queue a failed job again that has no page of its own.

    Raises NotAllowed, LookupError without such a job, InvalidTransition.
    """
    if not by.is_superuser:
        raise NotAllowed("Only an operator can queue such jobs again.")
    job = _find(kind, job_id)
    actions.retry(job=job, by=by, study=getattr(job, "study", None))
    send_hints(type(job), [job.pk])


def _find(name: str, job_id: int) -> ClaimableJob:
    for kind in registry.kinds():
        if kind.name == name:
            job = kind.job_class._default_manager.filter(pk=job_id).first()
            if job is not None and kind.find_page(job) is None:
                return job
    raise LookupError("no such job without a page of its own")


def _find_of_kind(kind: JobKind) -> Iterator[StuckJob]:
    jobs = kind.job_class._default_manager.order_by().only(*_SHOWN_FIELDS)
    overdue = database_time(-OVERDUE)
    for job in jobs.filter(state=JobState.RUNNING, lease_expires_at__lte=overdue)[:SHOWN]:
        yield _describe(kind, job, LOST, job.lease_expires_at)
    for job in jobs.filter(pk__in=_find_recent_failures(kind)):
        yield _describe(kind, job, FAILED, job.finished_at)


def _find_recent_failures(kind: JobKind) -> list[int]:
    """Return the newest of some failed jobs.

    No index has the time of the end, so not all of them are looked at.
    """
    failed = kind.job_class._default_manager.order_by().filter(state=JobState.FAILED)
    since = timezone.now() - RECENT
    ended = [(at, pk) for pk, at in failed.values_list("pk", "finished_at")[:LOOKED_AT] if at]
    return [pk for at, pk in sorted(ended, reverse=True)[:SHOWN] if at >= since]


def _describe(kind: JobKind, job: Any, why: str, since: Any) -> StuckJob:
    reason = job.reasons[-1] if job.reasons else ""
    return StuckJob(kind.name, job.pk, why, reason, since, kind.find_page(job))
