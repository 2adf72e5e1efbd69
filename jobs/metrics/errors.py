"""Count the errors that are logged, by the part of the application."""

from __future__ import annotations

import logging

from django.core.exceptions import ImproperlyConfigured

from jobs.metrics.counters import Counter

#: Loggers that are named; all others are counted together.
NAMED = frozenset(
    {
        *("config", "accounts", "jobs", "llm_runtime", "ehr", "timelines", "adjudication"),
        *("cohorts", "django", "celery", "gunicorn"),
    }
)
ERRORS = Counter(
    "occurrent_errors_total", "Errors that were logged, by the part that logged them.", ("part",)
)


class CountErrors(logging.Handler):
    """Counts records of the level error and above; it keeps nothing of them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        """Count one record."""
        part = record.name.partition(".")[0]
        try:
            ERRORS.add(part if part in NAMED else "other")
        except ImproperlyConfigured:
            return  # the settings themselves are wrong: nobody reads the count
