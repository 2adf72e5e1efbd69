"""One claim of one job, as the code that works on it sees it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

from jobs.errors import JobCancelled, LostLease, OutOfTime, WorkerStops
from jobs.leases.clock import database_time
from jobs.leases.stopping import is_stop_requested
from jobs.models import ClaimableJob, JobState


@dataclass(frozen=True)
class TimeLimit:
    """How long one attempt may take, and the name of the setting that says so."""

    seconds: float
    setting: str

    def words(self) -> str:
        """Return why a job failed that took longer."""
        return (
            f"it took longer than {self.seconds:g} s. Raise {self.setting} and retry, or leave the"
            " case out"
        )


@dataclass(frozen=True)
class Hold:
    """One claim of one job.

    `fence` is fixed at the claim, so that no refresh of a row can give another claim's token.
    """

    job_class: type[ClaimableJob]
    job_id: int
    fence: int
    attempt: int
    limit: TimeLimit | None = None
    began: float = field(default_factory=time.monotonic, compare=False)
    lost: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)

    @property
    def row(self) -> Any:
        """The queryset of the job as long as it is this claim's."""
        return self.job_class._default_manager.filter(
            pk=self.job_id, fence=self.fence, state=JobState.RUNNING
        )

    def check(self) -> None:
        """Raise if the work must end.

        Raises LostLease or JobCancelled if the heartbeat has noticed either, WorkerStops, or
        OutOfTime past the limit. It costs next to nothing: call it before each step that takes
        longer than a second.
        """
        if self.lost.is_set():
            raise LostLease("the lease was lost")
        if self.cancelled.is_set():
            raise JobCancelled("cancelled on request")
        if is_stop_requested():
            raise WorkerStops("the worker is stopping")
        if self.limit is not None and self.seconds_left() < 0:
            raise OutOfTime(self.limit.words())

    def seconds_left(self) -> float:
        """Until the limit; negative past it, infinite without one."""
        return (
            math.inf if self.limit is None else self.began + self.limit.seconds - time.monotonic()
        )

    def report(self, *, done: int, total: int, words: str) -> None:
        """Show what the job is doing now. Raises LostLease.

        `words` never has patient text.
        """
        with write_guard(self):
            self.row.update(progress={"done": done, "total": total, "words": words})


def assert_fence(hold: Hold) -> None:
    """Lock the job's row and check on database time that the claim is valid.

    The lock ends with the transaction. Raises LostLease; RuntimeError outside a transaction, where
    the lock would end at once.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("assert_fence() works only inside a transaction")
    rows = hold.row.filter(lease_expires_at__gt=database_time()).select_for_update()
    asked_to_stop = rows.values_list("cancel_requested", flat=True).first()
    if asked_to_stop is None:
        hold.lost.set()
        raise LostLease("the lease was lost before a write")
    if asked_to_stop:
        hold.cancelled.set()


@contextmanager
def write_guard(hold: Hold) -> Iterator[None]:
    """Open a transaction in which the job is certainly this claim's.

    Every write of a job happens inside one. Raises LostLease. A cancelled job may still store the
    batch it has; its next `check` stops it.
    """
    with transaction.atomic():
        assert_fence(hold)
        yield
