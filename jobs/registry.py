"""The kinds of jobs.

Upper apps register theirs in `AppConfig.ready`; the sweeper reads them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from jobs.models import ClaimableJob

#: Puts one message per id on the broker.
HintSender = Callable[[Sequence[int]], None]
#: Narrows a queryset of jobs to those that may run now (a paused run's may not).
Runnable = Callable[[QuerySet[Any]], QuerySet[Any]]


#: The jobs of the run that the job of this id belongs to, first ones first.
Beside = Callable[[int], QuerySet[Any]]


@dataclass(frozen=True)
class JobKind:
    """A concrete job class and how its workers get hints of work."""

    job_class: type[ClaimableJob]
    send: HintSender
    runnable: Runnable
    beside: Beside


_kinds: dict[type[ClaimableJob], JobKind] = {}


def register(
    job_class: type[ClaimableJob],
    send: HintSender,
    *,
    runnable: Runnable = lambda jobs: jobs,
    beside: Beside | None = None,
) -> None:
    """Register a job class; a second registration replaces the first."""
    _kinds[job_class] = JobKind(
        job_class, send, runnable, beside or (lambda job_id: job_class._default_manager.none())
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
