"""The distributed engine: Celery over a Redis-protocol broker.

A message is a hint; the database row with its lease is the queue
(docs/adr/0004-queue-is-the-row.md). So results are ignored, messages are acknowledged on receipt,
and a sweeper re-sends hints for rows that wait.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_shutting_down

from jobs.leases.stopping import request_stop

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("occurrent")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# A worker that is asked to end waits for its tasks. They hand their jobs back at their next check,
# so the wait is short.
worker_shutting_down.connect(request_stop)


@setup_logging.connect
def keep_django_logging(**options: Any) -> None:
    """Leave logging as Django's settings made it.

    Celery does not configure logging if a receiver is connected to this signal.
    """
    from config.logging import install_exception_hooks

    install_exception_hooks()
