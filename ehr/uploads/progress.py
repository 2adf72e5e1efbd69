"""The state of a job on datasets in words, for its page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from ehr.models import DatasetDeletion, ImportJob
from ehr.models.jobs import ACTIVE
from ehr.presentation.wording import duration_words
from jobs.models import ClaimableJob, JobState

#: Without a worker for so long, the page says so.
QUIET_SECONDS = 60
#: No time is named before so much is done.
LEAST_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job as pages show it."""

    state: str
    badge: str
    percent: int
    words: str
    active: bool
    paused: bool
    warning: str


def describe_job(job: ImportJob | DatasetDeletion, now: datetime | None = None) -> JobLine:
    """Return the state, the share that is done, and the time left."""
    now = now or timezone.now()
    paused = getattr(job, "paused_at", None) is not None
    active = job.state in ACTIVE
    done, total = job.progress.get("done", 0), job.progress.get("total", 0)
    share = done / total if total else 0.0
    if job.state == JobState.SUCCEEDED:
        share = 1.0
    return JobLine(
        _say_state(job, paused=paused and active),
        _BADGES[JobState(job.state)],
        round(100 * share),
        _say_left(job, share, now) if job.state == JobState.RUNNING else "",
        active,
        paused and active,
        "" if paused else _find_warning(job, now),
    )


_BADGES = {
    JobState.BLOCKED: "waiting",
    JobState.QUEUED: "waiting",
    JobState.RUNNING: "running",
    JobState.SUCCEEDED: "done",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}


def _say_state(job: ClaimableJob, *, paused: bool) -> str:
    if paused:
        return "Pausing" if job.state == JobState.RUNNING else "Paused"
    if job.cancel_requested and job.state == JobState.RUNNING:
        return "Cancelling"
    return {JobState.QUEUED: "Waiting", JobState.SUCCEEDED: "Done"}.get(
        JobState(job.state), JobState(job.state).label
    )


def _say_left(job: ClaimableJob, share: float, now: datetime) -> str:
    """Return how long it may still take; how far it is before that is known."""
    if not job.progress:
        return "reading the stays"
    if share < LEAST_SHARE or job.started_at is None:
        return ""
    elapsed = (now - job.started_at).total_seconds()
    left = elapsed * (1 - share) / share
    return "less than a minute left" if left < 60 else f"about {duration_words(left)} left"


def _find_warning(job: ClaimableJob, now: datetime) -> str:
    quiet = (now - job.queued_at).total_seconds()
    if job.state != JobState.QUEUED or quiet < QUIET_SECONDS:
        return ""
    if job.reasons:
        return "It waits to be tried again."
    return (
        f"No worker has taken this for {duration_words(quiet)}. Start the workers with make run,"
        " or ask the operator whether a worker of the queue ingest is running. No data is lost."
    )
