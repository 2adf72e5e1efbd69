"""How long a job may take, by whether it computes here or asks language models (settings)."""

from __future__ import annotations

from django.conf import settings

from jobs.leases.hold import TimeLimit

#: After its limit and this, a worker process whose job has not ended is killed by its worker: the
#: last resort.
HARD_SECONDS = 60.0


def limit_of(*, asks_models: bool) -> TimeLimit:
    """The limit of one attempt."""
    setting = "MODEL_STAGE_SECONDS" if asks_models else "STAGE_SECONDS"
    return TimeLimit(float(getattr(settings, setting)), setting)


def hard_limit(*, asks_models: bool) -> float:
    """Seconds after which the worker kills the process that does the job (Celery's `time_limit`)."""
    return limit_of(asks_models=asks_models).seconds + HARD_SECONDS
