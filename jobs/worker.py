"""What every task does with the id that a message brought."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, close_old_connections

from jobs.actions import fail, finish, hand_on, stop
from jobs.claims import claim
from jobs.errors import HandedOn, JobCancelled, LostLease, reason_of
from jobs.hints import send_hints
from jobs.holding import Hold, held
from jobs.models import ClaimableJob, JobState

logger = logging.getLogger(__name__)
J = TypeVar("J", bound=ClaimableJob)


def work(
    job_class: type[J],
    job_id: int,
    do: Callable[[J, Hold], None],
    *,
    then: Callable[[J], None] | None = None,
    lease: timedelta | None = None,
) -> JobState | None:
    """Claim the job, run `do(job, hold)` under a heartbeat, and settle how it ended. None where there was nothing to claim.

    `do` stores its results inside `write_guard(hold)`. Its exceptions become reasons (`reason_of`); one with `retryable = False`
    fails the job at once, one with `outage = True` uses up no attempt, and with `patient = True` waits without end (`jobs.actions.fail`).
    `then(job)` runs in the transaction that finishes the job, so that what follows is released with it or not at all. HandedOn puts
    the job back for other workers at once. A job whose worker
    loses the lease or the database is left to the sweeper. Never raises for a failed job.
    """
    job = claim(job_class, job_id, lease=lease)
    if job is None:
        return None
    with held(job, lease=lease) as hold:
        try:
            return _attempt(job, hold, do, then)
        except LostLease:
            logger.warning("lost the lease of %s %s in attempt %s", job_class.__name__, job_id, hold.attempt)
        except (DatabaseError, InterfaceError):
            logger.warning("could not store how %s %s ended", job_class.__name__, job_id, exc_info=True)
    return None


def _attempt(job: J, hold: Hold, do: Callable[[J, Hold], None], then: Callable[[J], None] | None) -> JobState:
    try:
        do(job, hold)
        finish(hold=hold, then=None if then is None else partial(then, job))
        return JobState.SUCCEEDED
    except LostLease:
        raise
    except HandedOn:
        return hand_on(hold=hold, then=lambda: send_hints(type(job), [hold.job_id]))
    except JobCancelled:
        stop(hold=hold)
        return JobState.CANCELLED
    except Exception as error:  # whatever the work raised becomes the job's reason; nothing may end a job silently
        patient, retryable = getattr(error, "patient", False), getattr(error, "retryable", True)
        if patient:
            logger.info("%s %s waits: %s", type(job).__name__, hold.job_id, reason_of(error))
        elif not retryable and getattr(error, "log_safe", False):  # its words say all; where it was raised says nothing more
            logger.warning("%s %s failed in attempt %s: %s", type(job).__name__, hold.job_id, hold.attempt, reason_of(error))
        else:
            logger.warning("%s %s failed in attempt %s", type(job).__name__, hold.job_id, hold.attempt, exc_info=True)
        close_old_connections()
        return fail(
            hold=hold,
            reasons=[reason_of(error)],
            retryable=retryable,
            outage=getattr(error, "outage", False),
            patient=patient,
        )
