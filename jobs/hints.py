"""Hints for workers that a row waits.

A hint may be lost or doubled without harm: the row is the queue. The broker has few hints at a time
for any number of waiting rows: workers request more as they finish (`pull_hints`), and the sweeper
repeats lost ones (`resend_hints`). A hint expires when it would be repeated, and a queue with
plenty of hints gets no more, so that nothing piles up while workers are away.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db import transaction
from django.db.models import F, Q, QuerySet
from kombu.exceptions import ChannelError, OperationalError

from jobs.leases.claims import due_condition, expired_condition
from jobs.leases.clock import database_time
from jobs.models import ClaimableJob
from jobs.registry import JobKind, find_kind

logger = logging.getLogger(__name__)

#: If nobody claimed a row this long after its hint, the hint is sent again. Its first message has
#: then expired.
RESEND_AFTER = timedelta(minutes=2)
#: Most pending hints of one kind: enough for every worker, too few to pile up behind long stages.
SWEEP_LIMIT = 200
#: Messages of one queue after which it gets no more.
QUEUE_LIMIT = 1000
#: How often a process looks for further rows to hint at.
PULL_SECONDS = 1.0
#: Priorities of messages (`CELERY_TASK_DEFAULT_PRIORITY`); Redis gives the lowest number first. What
#: a dead worker left behind does not wait for the hints of a large run.
FIRST, USUAL = 0, 3
_priority: ContextVar[int] = ContextVar("priority", default=USUAL)


@dataclass(frozen=True, slots=True)
class Message:
    """A task for one row.

    `time_limit`: seconds after which the worker kills the process that does the task.
    """

    task: Any
    job_id: int
    queue: str
    time_limit: float | None = None


_next_pull: dict[type[ClaimableJob], float] = {}


def send_hints(
    job_class: type[ClaimableJob], job_ids: Sequence[int], *, priority: int = USUAL
) -> None:
    """Send hints for the first of these rows when the transaction commits.

    Hints for the others follow when these are claimed.
    """
    if not job_ids:
        return
    ids = list(job_ids)[:SWEEP_LIMIT]
    job_class._default_manager.filter(pk__in=ids).update(hinted_at=database_time())

    def send() -> None:
        with _at_priority(priority):
            find_kind(job_class).send(ids)

    transaction.on_commit(send)


@contextmanager
def _at_priority(priority: int) -> Iterator[None]:
    token = _priority.set(priority)
    try:
        yield
    finally:
        _priority.reset(token)


def resend_hints(kind: JobKind) -> int:
    """Send hints for rows that wait without one; return how many.

    Rows of dead workers come first. Of the rest, half go to rows that never had a hint, half to
    those with the oldest hints.
    """
    jobs = kind.runnable(kind.job_class._default_manager.filter(cancel_requested=False))
    before = database_time(-RESEND_AFTER)
    lost = (
        Q(hinted_at__isnull=True)
        | Q(hinted_at__lte=before)
        | Q(lease_expires_at__gt=F("hinted_at"))
    )
    with transaction.atomic():
        left = _lock_rows(
            jobs.filter(expired_condition(), lost, attempt__lt=F("max_attempts")).order_by(
                "lease_expires_at"
            ),
            SWEEP_LIMIT,
        )
        room = SWEEP_LIMIT - len(left)
        hinted = jobs.filter(due_condition(), hinted_at__lte=before).order_by("hinted_at", "pk")
        ids = _lock_rows(hinted, room // 2)
        ids += _lock_rows(
            jobs.filter(due_condition(), hinted_at__isnull=True).order_by("pk"), room - len(ids)
        )
        ids += _lock_rows(hinted.exclude(pk__in=ids), room - len(ids))
        send_hints(kind.job_class, left, priority=FIRST)
        send_hints(kind.job_class, ids)
    return len(left) + len(ids)


def pull_hints(job_class: type[ClaimableJob], job_id: int) -> None:
    """Send hints for rows of the same run if most earlier ones were claimed.

    This happens at most once in PULL_SECONDS in each process. A worker so gets work of its current
    run, which its queue serves, before other work.
    """
    if time.monotonic() < _next_pull.get(job_class, 0.0):
        return
    _next_pull[job_class] = time.monotonic() + PULL_SECONDS
    kind = find_kind(job_class)
    beside = kind.runnable(kind.beside(job_id)).filter(due_condition(), cancel_requested=False)
    under_way = beside.filter(hinted_at__gt=database_time(-RESEND_AFTER))[:SWEEP_LIMIT].count()
    if under_way <= SWEEP_LIMIT // 2:
        with transaction.atomic():
            send_hints(
                job_class,
                _lock_rows(beside.filter(hinted_at__isnull=True), SWEEP_LIMIT - under_way),
            )


def post(messages: Iterable[Message]) -> None:
    """Put messages on the broker as far as its queues have room.

    If the broker is away, the rows wait for the sweeper.
    """
    room: dict[str, int] = {}
    left_out = 0
    try:
        for message in messages:
            queue = message.queue
            if queue not in room:
                room[queue] = QUEUE_LIMIT - count_messages(queue)
            room[queue] -= 1
            if room[queue] >= 0:
                options = {
                    "queue": queue,
                    "retry": False,
                    "expires": RESEND_AFTER.total_seconds(),
                    "time_limit": message.time_limit,
                    "priority": _priority.get(),
                }
                message.task.apply_async((message.job_id,), **options)
            else:
                left_out += 1
    except (OperationalError, OSError):
        logger.warning("the broker did not take all hints; the sweeper sends them again")
    if left_out:
        logger.info(
            "%s hints were not sent: their queues are full; the sweeper sends them again", left_out
        )


def count_messages(queue: str) -> int:
    """Return how many messages wait in a queue of the broker.

    Raises OperationalError, OSError.
    """
    with current_app.connection_or_acquire() as broker:
        try:
            with broker.channel() as channel:
                return int(channel.queue_declare(queue, passive=True).message_count)
        except ChannelError:  # the broker does not know an empty queue
            return 0


def _lock_rows(jobs: QuerySet[Any], limit: int) -> list[int]:
    """Primary keys of the first rows that nobody else is sending hints for."""
    if limit <= 0:
        return []
    return list(
        jobs.select_for_update(of=("self",), skip_locked=True, no_key=True).values_list(
            "pk", flat=True
        )[:limit]
    )
