"""What workers count of their jobs.

A kind of job is the name of its class; a part is the stage of a case, else empty.
"""

from __future__ import annotations

from jobs.leases.claims import LOST_WORKER
from jobs.metrics.counters import Counter, Histogram
from jobs.models import ClaimableJob, JobState

ATTEMPTS_FAILED = Counter(
    "occurrent_attempts_failed_total",
    "Attempts of jobs that failed. again says whether the job is tried again.",
    ("kind", "again"),
)
LEASES_LOST = Counter(
    "occurrent_leases_lost_total",
    "Leases that ended while a job ran, as noticed by its worker, the next worker or the sweeper.",
    ("kind", "noticed"),
)
JOB_SECONDS = Histogram(
    "occurrent_job_seconds",
    "Durations of successful attempts. part is the stage of a case.",
    ("kind", "part"),
)


def count_success(job: ClaimableJob, seconds: float) -> None:
    """Count an attempt that succeeded."""
    JOB_SECONDS.observe(type(job).__name__, str(getattr(job, "stage", "")), seconds=seconds)


def count_failure(job: ClaimableJob, state: JobState) -> None:
    """Count an attempt that failed; `state` is the job's new one."""
    again = "yes" if state == JobState.QUEUED else "no"
    ATTEMPTS_FAILED.add(type(job).__name__, again)


def was_taken_over(job: ClaimableJob) -> bool:
    """Return True if the claim ended the lease of an earlier worker."""
    return job.reasons[-1:] == [f"attempt {job.attempt - 1}: {LOST_WORKER}"]


def count_lost_lease(job_class: type[ClaimableJob], noticed: str, number: int = 1) -> None:
    """Count leases that ended while the job ran."""
    if number:
        LEASES_LOST.add(job_class.__name__, noticed, amount=number)
