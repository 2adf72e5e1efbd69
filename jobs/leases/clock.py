"""Database time.

Workers' clocks differ; leases use the one clock that all workers share.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import DateTimeField, ExpressionWrapper, Value
from django.db.models.functions import Now


def database_time(delay: timedelta = timedelta(0)) -> ExpressionWrapper:
    """The database's clock at the start of the statement, plus `delay`."""
    return ExpressionWrapper(Now() + Value(delay), output_field=DateTimeField())


def default_lease() -> timedelta:
    """How long a claim lasts without a heartbeat (`JOB_LEASE_SECONDS`)."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)
