"""The sweeper, and messages to webhooks.

Beat starts them every few seconds (the setting CELERY_BEAT_SCHEDULE).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from celery import shared_task

from jobs import registry
from jobs.actions import end_abandoned_jobs
from jobs.health.presence import note_sweep
from jobs.hints import Message, post, resend_hints
from jobs.metrics.work import count_lost_lease
from jobs.webhooks.actions import announce_recent
from jobs.webhooks.delivery import execute_delivery

logger = logging.getLogger(__name__)


@shared_task(name="jobs.tasks.sweep")
def sweep() -> None:
    """End abandoned jobs, and send hints again for rows that wait.

    Rows wait because of lost messages, past backoffs or expired leases.
    """
    note_sweep()
    for kind in registry.kinds():
        ended = end_abandoned_jobs(jobs=kind.job_class._default_manager.all())
        count_lost_lease(kind.job_class, "sweeper", ended)
        sent = resend_hints(kind)
        if ended or sent:
            logger.info("swept %s: %s ended, %s hints sent", kind.job_class.__name__, ended, sent)


@shared_task(name="jobs.tasks.announce_ended")
def announce_ended() -> None:
    """Queue a message to the webhooks for work that has just ended."""
    announce_recent()


@shared_task(name="jobs.tasks.deliver")
def deliver(delivery_id: int) -> None:
    """Send the message if it still waits."""
    execute_delivery(delivery_id)


def send_delivery_hints(delivery_ids: Sequence[int]) -> None:
    """One message a delivery, on the queue that needs no model."""
    post(Message(deliver, pk, "pipeline") for pk in delivery_ids)
