"""The distributed engine: Celery over a Redis-protocol broker.

A message is a hint; the database row with its lease is the queue. So results are ignored, messages are acknowledged on receipt, and
a sweeper re-sends hints for rows that wait.
"""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("occurrent")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
