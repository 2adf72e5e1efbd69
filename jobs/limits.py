"""The time limits of jobs, from the settings.

Jobs that compute here and jobs that ask language models have different limits.
"""

from __future__ import annotations

from django.conf import settings

from jobs.leases.hold import TimeLimit

#: A worker kills its process if the job has not ended so long after its limit: the last resort.
HARD_SECONDS = 60.0


def make_limit(*, asks_models: bool) -> TimeLimit:
    """The limit of one attempt."""
    setting = "MODEL_STAGE_SECONDS" if asks_models else "STAGE_SECONDS"
    return TimeLimit(float(getattr(settings, setting)), setting)


def hard_limit(*, asks_models: bool) -> float:
    """Return the seconds after which the worker kills a job's process.

    This is Celery's `time_limit`.
    """
    return make_limit(asks_models=asks_models).seconds + HARD_SECONDS
