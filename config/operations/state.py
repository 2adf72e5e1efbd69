"""What the operator's page shows: counts, times and names of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from config.backups.history import Backup, last_backup, last_good_backup
from config.health.installation import (
    Disk,
    Messages,
    Trail,
    count_messages,
    count_missing_migrations,
    find_disks,
    find_trail,
    list_versions,
)
from jobs.health.broker import AWAY, open_broker
from jobs.health.broker import count_messages as count_waiting
from jobs.health.presence import Presence, find_sweep_age, find_workers
from jobs.health.stuck import StuckJob, find_stuck
from jobs.health.waiting import Waiting, load_waiting, sum_queues


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue: its jobs that may run now, its messages, and its workers."""

    name: str
    jobs: int
    messages: int
    workers: int

    @property
    def idle_without_worker(self) -> bool:
        """Return True if something waits and nobody serves the queue."""
        return self.workers == 0 and (self.jobs > 0 or self.messages > 0)


@dataclass(frozen=True, slots=True)
class BrokerState:
    """What the broker knows; `swept` is when the sweeper ran last."""

    workers: tuple[Presence, ...]
    messages: Mapping[str, int]
    swept: datetime | None


@dataclass(frozen=True, slots=True)
class State:
    """Everything on the page.

    `broker` is None if it does not answer. `backup` is the last one, which may have failed.
    """

    broker: BrokerState | None
    queues: tuple[QueueLine, ...]
    waiting: tuple[Waiting, ...]
    stuck: tuple[StuckJob, ...]
    disks: tuple[Disk, ...]
    backup: Backup | None
    good_backup: Backup | None
    trail: Trail
    messages: Messages
    versions: Mapping[str, str]
    missing_migrations: int

    @property
    def busy(self) -> list[Waiting]:
        """Return the kinds that have jobs."""
        return [one for one in self.waiting if one.queued or one.running]


def load_state() -> State:
    """Return the state of the installation now."""
    broker, waiting = _ask_broker(), tuple(load_waiting())
    return State(
        broker=broker,
        queues=_build_queues(broker, sum_queues(list(waiting))),
        waiting=waiting,
        stuck=tuple(find_stuck()),
        disks=tuple(find_disks()),
        backup=last_backup(),
        good_backup=last_good_backup(),
        trail=find_trail(),
        messages=count_messages(),
        versions=list_versions(),
        missing_migrations=count_missing_migrations(),
    )


def _ask_broker() -> BrokerState | None:
    try:
        with open_broker() as broker:
            age = find_sweep_age(broker)
            messages = count_waiting(broker)
            workers = tuple(find_workers(broker))
    except AWAY:
        return None
    swept = None if age is None else timezone.now() - timedelta(seconds=age)
    return BrokerState(workers, messages, swept)


def _build_queues(broker: BrokerState | None, jobs: Mapping[str, int]) -> tuple[QueueLine, ...]:
    if broker is None:
        return ()
    alive = [queue for one in broker.workers if one.alive for queue in one.worker.queues]
    return tuple(
        QueueLine(queue, jobs.get(queue, 0), broker.messages[queue], alive.count(queue))
        for queue in settings.QUEUES
    )
