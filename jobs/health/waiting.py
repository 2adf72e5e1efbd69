"""How many jobs of each kind wait, for which queues, and since when.

Every query reads a limited number of rows through an index, however long the queues are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, Min
from django.db.models.functions import Now

from accounts.wording import describe_duration
from jobs import registry
from jobs.leases.claims import due_condition, expired_condition
from jobs.models import JobState
from jobs.registry import JobKind

#: Most jobs of a kind and state that are counted. Beyond it the count is "at least".
MOST = 100_000
#: So many jobs with the oldest hints, and so many without one, are looked at.
SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Waiting:
    """The waiting and running jobs of a kind.

    `oldest` is how long the oldest job waits that may run now; None if there is none. `queues` are
    the sampled jobs by queue. `expired` are running jobs whose lease has ended.
    """

    kind: str
    queued: int = 0
    running: int = 0
    expired: int = 0
    oldest: timedelta | None = None
    queues: Mapping[str, int] = field(default_factory=dict)

    @property
    def oldest_words(self) -> str:
        """Return how long the oldest job waits, in words."""
        return "" if self.oldest is None else describe_duration(self.oldest)


def load_waiting() -> Iterator[Waiting]:
    """Yield the waiting jobs of each kind."""
    for kind in registry.kinds():
        jobs = kind.job_class._default_manager
        due = kind.runnable(jobs.filter(pk__in=_sample(kind))).filter(due_condition())
        yield Waiting(
            kind.name,
            queued=jobs.filter(state=JobState.QUEUED)[:MOST].count(),
            running=jobs.filter(state=JobState.RUNNING)[:MOST].count(),
            expired=jobs.filter(expired_condition())[:MOST].count(),
            oldest=_find_oldest(due),
            queues=kind.count_queues(due),
        )


def sum_queues(waiting: list[Waiting]) -> Mapping[str, int]:
    """Return how many of the sampled jobs wait for each queue."""
    total: Counter[str] = Counter()
    for each in waiting:
        total.update(each.queues)
    return total


def _sample(kind: JobKind) -> list[int]:
    """Return the jobs with the oldest hints, and the first ones without."""
    queued = kind.job_class._default_manager.filter(state=JobState.QUEUED)
    # Both in the order of the index on (hinted_at, id), so that nothing is sorted.
    hinted = queued.filter(hinted_at__isnull=False).order_by("hinted_at", "pk")
    new = queued.filter(hinted_at__isnull=True).order_by("hinted_at", "pk")
    return [pk for jobs in (hinted, new) for pk in jobs.values_list("pk", flat=True)[:SAMPLE]]


def _find_oldest(jobs: Any) -> timedelta | None:
    age = ExpressionWrapper(Now() - Min("queued_at"), output_field=DurationField())
    found: timedelta | None = jobs.order_by().aggregate(age=age)["age"]
    return found
