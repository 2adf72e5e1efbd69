"""The kinds of jobs.

Upper apps register theirs in `AppConfig.ready`; the sweeper reads them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.models import Study
from jobs.models import ClaimableJob

#: Puts one message per id on the broker.
HintSender = Callable[[Sequence[int]], None]
#: Narrows a queryset of jobs to those that may run now (a paused run's may not).
Runnable = Callable[[QuerySet[Any]], QuerySet[Any]]
#: The jobs of the run that the job of this id belongs to, first ones first.
Beside = Callable[[int], QuerySet[Any]]
#: How many of these jobs each queue has.
CountQueues = Callable[[QuerySet[Any]], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class JobPage:
    """The address of a page on which admins of the study see and retry a job."""

    url: str
    study: Study


#: The page of a job; None if it has none.
FindPage = Callable[[Any], JobPage | None]


@dataclass(frozen=True)
class JobKind:
    """A concrete job class and how its workers get hints of work."""

    job_class: type[ClaimableJob]
    send: HintSender
    runnable: Runnable
    beside: Beside
    count_queues: CountQueues
    find_page: FindPage

    @property
    def name(self) -> str:
        """Return the name of the class, as pages and metrics have it."""
        return self.job_class.__name__


_kinds: dict[type[ClaimableJob], JobKind] = {}


def register(
    job_class: type[ClaimableJob],
    send: HintSender,
    *,
    queue: str | CountQueues = "pipeline",
    runnable: Runnable = lambda jobs: jobs,
    beside: Beside | None = None,
    find_page: FindPage = lambda job: None,
) -> None:
    """Register a job class; a second registration replaces the first.

    `queue`: where its hints go, or a function that counts jobs by queue.
    """
    _kinds[job_class] = JobKind(
        job_class,
        send,
        runnable,
        beside or (lambda job_id: job_class._default_manager.none()),
        _count_in(queue) if isinstance(queue, str) else queue,
        find_page,
    )


def find_kind(job_class: type[ClaimableJob]) -> JobKind:
    """What was registered for the class; raises LookupError with the fix."""
    try:
        return _kinds[job_class]
    except KeyError:
        raise LookupError(
            f"{job_class.__name__} is not registered. Call jobs.registry.register in its"
            " AppConfig.ready."
        ) from None


def kinds() -> Iterator[JobKind]:
    """Every registered kind."""
    yield from tuple(_kinds.values())


def _count_in(queue: str) -> CountQueues:
    return lambda jobs: {queue: jobs.count()}
