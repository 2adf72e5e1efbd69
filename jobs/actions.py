"""Every change of a job's state, as conditional updates by `jobs.states`.

A worker's changes need its hold; a person's changes need `by`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import F, Func, Q, QuerySet, TextField, Value

from accounts.audit.trail import record
from accounts.models import Study, User
from jobs.leases.claims import expired_condition
from jobs.leases.clock import database_time
from jobs.leases.hold import Hold, write_guard
from jobs.models import ClaimableJob, JobState
from jobs.states import FINAL, InvalidTransition, next_state, sources

FIRST_BACKOFF = timedelta(seconds=5)
BACKOFF_GROWTH = 4
LONGEST_BACKOFF = timedelta(minutes=10)
#: Most outages of a service that a job waits out before its case fails: with the longest backoff,
#: well over half a day.
MOST_OUTAGES = 100
#: More claims than any job gets between a backup and the end of its database.
RECOVERY_FENCES = 1_000_000


def backoff(attempt: int) -> timedelta:
    """Return the wait after failed attempt number `attempt` (from 1).

    5 s, 20 s, 80 s, …, at most ten minutes.
    """
    return min(FIRST_BACKOFF * BACKOFF_GROWTH ** (min(attempt, 10) - 1), LONGEST_BACKOFF)


def release(*, jobs: QuerySet[Any]) -> int:
    """Queue the blocked ones of `jobs`; return how many.

    Call it when their earlier step is done.
    """
    return _move(jobs, "release", queued_at=database_time(), hinted_at=None)


def finish(*, hold: Hold, then: Callable[[], None] | None = None) -> None:
    """Store that the work is done. Raises LostLease.

    `then` runs in the same transaction (it stores a result or releases the next jobs).
    """
    with write_guard(hold):
        if then is not None:
            then()
        hold.row.update(
            state=next_state(JobState.RUNNING, "finish"),
            finished_at=database_time(),
            lease_expires_at=None,
        )


def fail(
    *,
    hold: Hold,
    reasons: Sequence[str],
    retryable: bool = True,
    outage: bool = False,
    patient: bool = False,
    then: Callable[[], None] | None = None,
) -> JobState:
    """End the attempt as failed; return the new state.

    The job is requeued after a backoff while attempts are left, else it fails. `outage`: a service
    that the job needs is away. The job waits without using up the attempt, at most MOST_OUTAGES
    times; a `patient` job waits for a person without limit (see `wake`). `reasons` are words an
    admin can act on, never patient text. `then` runs in the same transaction. Raises LostLease.
    """
    numbered = [f"attempt {hold.attempt}: {reason}" for reason in reasons]
    with write_guard(hold):
        job = hold.row.get()
        waits = outage and (patient or job.outages < MOST_OUTAGES)
        again = retryable and (waits or job.attempt < job.max_attempts) and not job.cancel_requested
        state = JobState(next_state(JobState.RUNNING, "requeue" if again else "fail"))
        changes: dict[str, Any] = {"finished_at": database_time()}
        if again:
            wait = (
                LONGEST_BACKOFF
                if waits and patient
                else backoff(job.outages + 1 if waits else job.attempt)
            )
            changes = {
                "not_before": database_time(wait),
                "queued_at": database_time(),
                "hinted_at": None,
            }
        if again and waits:
            changes |= {"attempt": job.attempt - 1, "outages": job.outages + (not patient)}
        reasons = [
            *job.reasons,
            *(
                reason
                for reason in numbered
                if not (waits and reason in job.reasons[-len(numbered) :])
            ),
        ]
        hold.row.update(state=state, reasons=reasons, lease_expires_at=None, worker="", **changes)
        if then is not None:
            then()
    return state


def requeue(*, hold: Hold, then: Callable[[], None] | None = None) -> JobState:
    """Requeue the job without using up the attempt; return the new state.

    `then` runs in the same transaction. A job with a cancel request is cancelled instead, because
    no worker would claim it again. Raises LostLease.
    """
    with write_guard(hold):
        if hold.cancelled.is_set():
            _stop(hold)
            return JobState.CANCELLED
        state = JobState(next_state(JobState.RUNNING, "requeue"))
        hold.row.update(state=state, **_requeue_fields())
        if then is not None:
            then()
        return state


def wake(*, jobs: QuerySet[Any]) -> int:
    """Run delayed queued jobs of `jobs` now; return how many.

    Call it when what they waited for is available.
    """
    return int(
        jobs.filter(state=JobState.QUEUED, not_before__gt=database_time()).update(
            not_before=None, hinted_at=None
        )
    )


def stop(*, hold: Hold) -> None:
    """The worker obeyed a cancellation. Raises LostLease."""
    with write_guard(hold):
        _stop(hold)


def cancel(*, job: ClaimableJob, by: User, study: Study | None) -> None:
    """Cancel one job; ask a running one to stop.

    Raises InvalidTransition if it has ended.
    """
    _single(job, "cancel", cancel_all(jobs=_rows(job), by=by, study=study))


def retry(*, job: ClaimableJob, by: User, study: Study | None) -> None:
    """Queue a failed or cancelled job again with all its attempts.

    Raises InvalidTransition otherwise.
    """
    _single(job, "retry", retry_all(jobs=_rows(job), by=by, study=study))


@transaction.atomic
def cancel_all(*, jobs: QuerySet[Any], by: User, study: Study | None) -> int:
    """Cancel those of `jobs` that wait and ask those that run to stop.

    Returns how many jobs it changed. One audit event.
    """
    _lock(jobs)
    waiting = _move(jobs, "cancel", finished_at=database_time(), cancel_requested=True)
    running = jobs.filter(state__in=sources("request_cancel")).update(cancel_requested=True)
    _audit(jobs, "job.cancel", by=by, study=study, count=waiting + running)
    return waiting + running


@transaction.atomic
def retry_all(*, jobs: QuerySet[Any], by: User, study: Study | None, waits: bool = False) -> int:
    """Retry failed and cancelled ones of `jobs` with all their attempts.

    Returns how many. One audit event. The jobs are queued, or with `waits` blocked, if their step
    comes after another that is retried too. Reasons stay.
    """
    count = _move(
        jobs,
        "retry_later" if waits else "retry",
        attempt=0,
        outages=0,
        cancel_requested=False,
        queued_at=database_time(),
        not_before=None,
        hinted_at=None,
        started_at=None,
        finished_at=None,
        worker="",
        progress={},
    )
    _audit(jobs, "job.retry", by=by, study=study, count=count)
    return count


def end_abandoned_jobs(*, jobs: QuerySet[Any]) -> int:
    """End expired jobs that nobody may reclaim; return how many.

    Jobs asked to stop become cancelled; jobs with no attempt left become failed.
    """
    lost = jobs.filter(expired_condition())
    ended = {"finished_at": database_time(), "lease_expires_at": None}
    stopped = lost.filter(cancel_requested=True).update(
        state=next_state(JobState.RUNNING, "stop"), **ended
    )
    words = Func(
        F("reasons"),
        Value("the worker stopped answering in the last attempt", TextField()),
        function="array_append",
        output_field=ArrayField(TextField()),
    )
    failed = lost.filter(Q(attempt__gte=F("max_attempts"))).update(
        state=next_state(JobState.RUNNING, "fail"), reasons=words, **ended
    )
    return stopped + failed


@transaction.atomic
def give_back(*, jobs: QuerySet[Any], workers: Sequence[str]) -> int:
    """Requeue the jobs of ended processes without using up the attempt.

    `workers` are "machine:pid". Returns how many. Only for processes that have ended through no
    fault of the job. A job that was asked to stop is cancelled.
    """
    theirs = Q(pk__in=[])
    for worker in workers:
        theirs |= Q(worker__startswith=f"{worker}:")
    return _requeue_lost(jobs.filter(theirs))


@transaction.atomic
def recover(*, jobs: QuerySet[Any]) -> int:
    """Requeue running jobs of a restored database; return how many.

    Their workers ended with the old database, so no attempt is used up. A worker that outlived it
    may have a claim that the backup does not know: fences jump, so that it cannot write.
    """
    jobs.exclude(state=JobState.SUCCEEDED).update(fence=F("fence") + RECOVERY_FENCES)
    return _requeue_lost(jobs)


def _requeue_lost(jobs: QuerySet[Any]) -> int:
    """Requeue the running ones of `jobs`, or cancel them if asked to stop."""
    lost = jobs.filter(state=JobState.RUNNING)
    _lock(lost)  # a cancel between the two updates would requeue a job that was asked to stop
    ended = {"finished_at": database_time(), "lease_expires_at": None}
    stopped = lost.filter(cancel_requested=True).update(
        state=next_state(JobState.RUNNING, "stop"), **ended
    )
    waiting = lost.update(state=next_state(JobState.RUNNING, "requeue"), **_requeue_fields())
    return stopped + waiting


def _requeue_fields() -> dict[str, Any]:
    waits = {"queued_at": database_time(), "hinted_at": None, "not_before": None}
    return {
        "attempt": F("attempt") - 1,
        "lease_expires_at": None,
        "worker": "",
        "progress": {},
        **waits,
    }


def _move(jobs: QuerySet[Any], happening: str, **changes: Any) -> int:
    """Apply `happening` to those of `jobs` in whose state it may happen."""
    froms = sources(happening)
    (target,) = {next_state(state, happening) for state in froms}
    return jobs.filter(state__in=froms).update(state=target, **changes)


def _stop(hold: Hold) -> None:
    hold.row.update(
        state=next_state(JobState.RUNNING, "stop"),
        finished_at=database_time(),
        lease_expires_at=None,
    )


def _lock(jobs: QuerySet[Any]) -> None:
    """Lock those of `jobs` that have not ended until the transaction does.

    Without this a running job could go back to the queue between two updates and be missed by both.
    The order of the keys is the order in which a worker locks the steps of one chain, so that
    neither waits for the other without end.
    """
    active = (
        jobs.exclude(state__in=FINAL)
        .order_by("pk")
        .select_for_update(of=("self",))
        .values_list("pk", flat=True)
    )
    for _ in active.iterator(chunk_size=10_000):
        pass


def _rows(job: ClaimableJob) -> QuerySet[Any]:
    return type(job)._default_manager.filter(pk=job.pk)


def _single(job: ClaimableJob, happening: str, count: int) -> None:
    job.refresh_from_db()
    if count != 1:
        raise InvalidTransition(job.state, happening)


def _audit(jobs: QuerySet[Any], action: str, *, by: User, study: Study | None, count: int) -> None:
    if count:
        record(
            actor=by,
            study=study,
            action=action,
            object_type=jobs.model._meta.label_lower,
            detail={"count": count},
        )
