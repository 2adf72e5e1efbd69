"""What has ended, for webhooks.

Upper apps register their kinds of work in `AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from jobs.states import FINAL

#: The event of a test delivery.
TEST = "test"


@dataclass(frozen=True, slots=True)
class Ended:
    """A piece of work of a study that has ended: ids alone."""

    study_id: int
    object_id: str
    at: datetime


#: Returns what has ended since that time.
FindEnded = Callable[[datetime], Iterable[Ended]]

_kinds: dict[str, FindEnded] = {}


def register_ended(event: str, find: FindEnded) -> None:
    """Add a kind of event, for example "run.ended"."""
    _kinds[event] = find


def find_ended(since: datetime) -> Iterator[tuple[str, Ended]]:
    """Yield what has ended since that time, with its event."""
    for event, find in _kinds.items():
        for ended in find(since):
            yield event, ended


def find_ended_jobs(jobs: QuerySet[Any], since: datetime) -> Iterator[Ended]:
    """Yield those of `jobs`, which have a study and a public id, that ended."""
    found = jobs.filter(state__in=FINAL, finished_at__gte=since)
    for study, public_id, at in found.values_list("study_id", "public_id", "finished_at"):
        yield Ended(study, public_id, at)
