"""The distributed engine: Celery over a Redis-protocol broker.

A message is a hint; the database row with its lease is the queue
(docs/adr/0004-queue-is-the-row.md). So results are ignored, messages are acknowledged on receipt,
and a sweeper re-sends hints for rows that wait.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import (
    setup_logging,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

from jobs.health.presence import Reporter, describe_this_worker
from jobs.leases.stopping import request_stop
from jobs.metrics.counters import flush

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("occurrent")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# A worker that is asked to end waits for its tasks. They hand their jobs back at their next check,
# so the wait is short.
worker_shutting_down.connect(request_stop)

_reporters: list[Reporter] = []


@worker_ready.connect
def begin_reporting(sender: Any, **options: Any) -> None:
    """Report to the broker which queues this worker serves."""
    controller = sender.controller
    queues = sorted(sender.app.amqp.queues.consume_from)
    pool = controller.pool_cls.__module__.rpartition(".")[2]
    _reporters.append(Reporter(describe_this_worker(queues, pool, controller.concurrency)))
    _reporters[-1].start()


@worker_shutdown.connect
def end_reporting(**options: Any) -> None:
    """Remove the worker's line, and send what it has counted."""
    while _reporters:
        _reporters.pop().stop()
    flush()


@worker_process_shutdown.connect
def send_counts(**options: Any) -> None:
    """Send what a process of a worker has counted."""
    flush()


@setup_logging.connect
def keep_django_logging(**options: Any) -> None:
    """Leave logging as Django's settings made it.

    Celery does not configure logging if a receiver is connected to this signal.
    """
    from config.logging import install_exception_hooks

    install_exception_hooks()
