"""Claim a job with one conditional UPDATE.

The claim succeeded if one row changed.
"""

from __future__ import annotations

import os
import socket
import threading
from datetime import timedelta
from typing import TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import Case, F, Func, Q, TextField, Value, When
from django.db.models.functions import Concat

from jobs.leases.clock import database_time, default_lease
from jobs.models import ClaimableJob, JobState, current_contents
from jobs.states import next_state

J = TypeVar("J", bound=ClaimableJob)
#: Why an attempt ended whose lease ran out.
LOST_WORKER = "the worker stopped answering"


def due_condition() -> Q:
    """Queued, and past its backoff."""
    return Q(state=JobState.QUEUED) & (
        Q(not_before__isnull=True) | Q(not_before__lte=database_time())
    )


def expired_condition() -> Q:
    """Running, with a lease that ran out: its worker is gone or cut off."""
    return Q(state=JobState.RUNNING, lease_expires_at__lte=database_time())


def claimable_condition() -> Q:
    """Return the condition on jobs that a worker may take.

    A job is due, or expired with an attempt left; nobody asked it to stop, and this code knows the
    form of its contents.
    """
    return Q(cancel_requested=False, contents__lte=current_contents()) & (
        due_condition() | (expired_condition() & Q(attempt__lt=F("max_attempts")))
    )


def worker_name() -> str:
    """This thread of this process on this machine."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_native_id()}"


def claim(
    job_class: type[J], job_id: int, *, worker: str | None = None, lease: timedelta | None = None
) -> J | None:
    """Claim the job for `lease` (default: the settings').

    Returns None if the job cannot be claimed; this is no error. The returned instance has the
    fencing token of this claim in `fence`. Update and read share a transaction, so the token read
    is the token written.
    """
    with transaction.atomic():
        taken = job_class._default_manager.filter(claimable_condition(), pk=job_id).update(
            state=next_state(JobState.QUEUED, "claim"),
            fence=F("fence") + 1,
            attempt=F("attempt") + 1,
            # An earlier worker could not go on with what this one stores.
            contents=current_contents(),
            worker=worker or worker_name(),
            reasons=_reasons_with_lost_worker(),
            started_at=database_time(),
            heartbeat_at=database_time(),
            lease_expires_at=database_time(lease or default_lease()),
            not_before=None,
            finished_at=None,
            progress={},
        )
        return job_class._default_manager.get(pk=job_id) if taken == 1 else None


def _reasons_with_lost_worker() -> Case:
    """Return the current reasons; a reclaim adds that the worker stopped."""
    reasons: ArrayField[list[str], list[str]] = ArrayField(TextField())
    words = Concat(
        Value("attempt "),
        F("attempt"),
        Value(f": {LOST_WORKER}"),
        output_field=TextField(),
    )
    return Case(
        When(
            state=JobState.RUNNING,
            then=Func(F("reasons"), words, function="array_append", output_field=reasons),
        ),
        default=F("reasons"),
    )
