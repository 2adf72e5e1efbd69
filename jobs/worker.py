"""What every task does with the id that a message brought."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, close_old_connections

from jobs.actions import fail, finish, requeue, stop
from jobs.errors import JobCancelled, LostLease, OutOfTime, RequeueJob, describe_error
from jobs.hints import send_hints
from jobs.leases.claims import claim
from jobs.leases.hold import Hold, TimeLimit
from jobs.leases.holding import keep_lease
from jobs.metrics.work import count_failure, count_lost_lease, count_success, was_taken_over
from jobs.models import ClaimableJob, JobState

logger = logging.getLogger(__name__)
J = TypeVar("J", bound=ClaimableJob)


def work(
    job_class: type[J],
    job_id: int,
    do: Callable[[J, Hold], None],
    *,
    then: Callable[[J], None] | None = None,
    failed: Callable[[J, Exception], None] | None = None,
    lease: timedelta | None = None,
    limit: Callable[[J], TimeLimit] | None = None,
) -> JobState | None:
    """Claim the job, run `do(job, hold)` with a heartbeat, store the outcome.

    Returns None if the job cannot be claimed. Never raises for a failed job.

    `do` stores its results inside `write_guard(hold)`. Its exceptions become reasons
    (`describe_error`). One with `retryable = False` fails the job at once; one with `outage = True`
    uses up no attempt, and with `patient = True` waits without end (`jobs.actions.fail`).
    RequeueJob requeues the job for other workers at once.

    `then(job)` runs in the transaction that finishes the job, so that the next jobs are released
    with it or not at all. `failed(job, error)` runs in the transaction in which the attempt fails.
    A job whose worker loses the lease or the database is left to the sweeper. One that takes longer
    than `limit(job)` fails.
    """
    job = claim(job_class, job_id, lease=lease)
    if job is None:
        return None
    count_lost_lease(job_class, "next worker", int(was_taken_over(job)))
    with keep_lease(
        job, lease=lease, limit=None if limit is None else limit(job), overdue=_fail_overdue
    ) as hold:
        try:
            return _attempt(job, hold, do, then, failed)
        except LostLease:
            count_lost_lease(job_class, "worker")
            logger.warning(
                "lost the lease of %s %s in attempt %s", job_class.__name__, job_id, hold.attempt
            )
        except (DatabaseError, InterfaceError):
            logger.warning(
                "could not store how %s %s ended", job_class.__name__, job_id, exc_info=True
            )
    return None


def _fail_overdue(hold: Hold) -> None:
    """Fail the job from the heartbeat's thread.

    Only the worker's manager ends the process.
    """
    assert hold.limit is not None
    logger.warning(
        "%s %s is past its limit of %s s", hold.job_class.__name__, hold.job_id, hold.limit.seconds
    )
    fail(hold=hold, reasons=[describe_error(OutOfTime(hold.limit.words()))], retryable=False)


def _attempt(
    job: J,
    hold: Hold,
    do: Callable[[J, Hold], None],
    then: Callable[[J], None] | None,
    failed: Callable[[J, Exception], None] | None,
) -> JobState:
    try:
        do(job, hold)
        finish(hold=hold, then=None if then is None else partial(then, job))
        count_success(job, time.monotonic() - hold.began)
        return JobState.SUCCEEDED
    except LostLease:
        raise
    except RequeueJob:
        return requeue(hold=hold, then=lambda: send_hints(type(job), [hold.job_id]))
    except (
        KeyboardInterrupt,
        SystemExit,
    ):  # the person or the system ends this process: no fault of the job
        with suppress(LostLease, DatabaseError, InterfaceError):
            requeue(hold=hold)
        raise
    except JobCancelled:
        stop(hold=hold)
        return JobState.CANCELLED
    except (
        Exception
    ) as error:  # every error becomes the job's reason; nothing may end a job silently
        patient, retryable = getattr(error, "patient", False), getattr(error, "retryable", True)
        if patient:
            logger.info("%s %s waits: %s", type(job).__name__, hold.job_id, describe_error(error))
        elif not retryable and getattr(
            error, "log_safe", False
        ):  # its words suffice; the place adds nothing
            logger.warning(
                "%s %s failed in attempt %s: %s",
                type(job).__name__,
                hold.job_id,
                hold.attempt,
                describe_error(error),
            )
        else:
            logger.warning(
                "%s %s failed in attempt %s",
                type(job).__name__,
                hold.job_id,
                hold.attempt,
                exc_info=True,
            )
        close_old_connections()
        state = fail(
            hold=hold,
            reasons=[describe_error(error)],
            retryable=retryable,
            outage=getattr(error, "outage", False),
            patient=patient,
            then=None if failed is None else partial(failed, job, error),
        )
        if not patient:  # it waits for a person, which is no failure
            count_failure(job, state)
        return state
