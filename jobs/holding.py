"""Holding a claimed job: a heartbeat beside the work, and a guard around every write.

job = claim(StageRun, job_id)
with held(job) as hold:
    for batch in batches:
        hold.check()                 # raises JobCancelled or LostLease
        result = model(batch)        # no transaction spans a model call
        with write_guard(hold):      # one transaction: fence checked, batch stored
            store(result)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import connection, transaction

from jobs.clock import database_time, default_lease
from jobs.errors import JobCancelled, LostLease
from jobs.heartbeat import Heartbeat
from jobs.models import ClaimableJob, JobState


@dataclass(frozen=True)
class Hold:
    """One claim of one job. `fence` is fixed at the claim, so that no refresh of a row can hand out someone else's token."""

    job_class: type[ClaimableJob]
    job_id: int
    fence: int
    attempt: int
    lost: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)

    @property
    def row(self) -> Any:
        """The queryset of the job as long as it is this claim's."""
        return self.job_class._default_manager.filter(pk=self.job_id, fence=self.fence, state=JobState.RUNNING)

    def check(self) -> None:
        """Raise LostLease or JobCancelled where the heartbeat has noticed either. Free: call it before each expensive step."""
        if self.lost.is_set():
            raise LostLease("the lease was lost")
        if self.cancelled.is_set():
            raise JobCancelled("cancelled on request")

    def report(self, *, done: int, total: int, words: str) -> None:
        """Show what the job is doing now. `words` never holds patient text. Raises LostLease."""
        with write_guard(self):
            self.row.update(progress={"done": done, "total": total, "words": words})


def hold_of(job: ClaimableJob) -> Hold:
    """The hold on a job that `claim` just returned, without a heartbeat."""
    return Hold(type(job), job.pk, job.fence, job.attempt)


@contextmanager
def held(job: ClaimableJob, *, lease: timedelta | None = None, interval: timedelta | None = None) -> Iterator[Hold]:
    """Keep the lease alive from a thread with a connection of its own while the block runs.

    `interval` defaults to a third of the lease. Raises RuntimeError inside a transaction: the heartbeat could not see the row.
    """
    if connection.in_atomic_block:
        raise RuntimeError("held() needs committed rows: it was called inside a transaction")
    lease = lease or default_lease()
    hold = hold_of(job)
    heartbeat = Heartbeat(hold, lease=lease, interval=interval or lease / 3)
    heartbeat.start()
    try:
        yield hold
    finally:
        heartbeat.stop()


def assert_fence(hold: Hold) -> None:
    """Lock the job's row until the transaction ends and make sure that it is still this claim's, on database time.

    Raises LostLease; RuntimeError outside a transaction, where the lock would end at once.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("assert_fence() holds only inside a transaction")
    rows = hold.row.filter(lease_expires_at__gt=database_time()).select_for_update()
    asked_to_stop = rows.values_list("cancel_requested", flat=True).first()
    if asked_to_stop is None:
        hold.lost.set()
        raise LostLease("the lease was lost before a write")
    if asked_to_stop:
        hold.cancelled.set()


@contextmanager
def write_guard(hold: Hold) -> Iterator[None]:
    """A transaction in which the job is certainly this claim's. Every write of a job happens inside one. Raises LostLease.

    A cancelled job may still store the batch it has; its next `check` stops it.
    """
    with transaction.atomic():
        assert_fence(hold)
        yield
