"""The sweeper, which beat starts every few seconds.

See the setting CELERY_BEAT_SCHEDULE.
"""

from __future__ import annotations

import logging

from celery import shared_task

from jobs import registry
from jobs.actions import end_abandoned_jobs
from jobs.hints import resend_hints

logger = logging.getLogger(__name__)


@shared_task(name="jobs.tasks.sweep")
def sweep() -> None:
    """End abandoned jobs, and send hints again for rows that wait.

    Rows wait because of lost messages, past backoffs or expired leases.
    """
    for kind in registry.kinds():
        ended = end_abandoned_jobs(jobs=kind.job_class._default_manager.all())
        sent = resend_hints(kind)
        if ended or sent:
            logger.info("swept %s: %s ended, %s hints sent", kind.job_class.__name__, ended, sent)
