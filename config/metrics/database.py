"""What the database knows: jobs, the audit trail, backups, messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.conf import settings
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from config.backups.history import last_backup, last_good_backup
from config.health.installation import count_messages, find_trail
from jobs.health.waiting import load_waiting, sum_queues

QUEUE_JOBS = "Jobs that may run now, of the first 2,000 of each kind."


def collect_jobs() -> Iterator[Metric]:
    """Yield waiting and running jobs by kind, and waiting ones by queue."""
    waiting = list(load_waiting())
    jobs = GaugeMetricFamily(
        "occurrent_jobs", "Jobs by kind and state, at most 100,000.", labels=["kind", "state"]
    )
    oldest = GaugeMetricFamily(
        "occurrent_oldest_job_age_seconds",
        "How long the oldest job waits that may run now; 0 if none waits.",
        labels=["kind"],
    )
    for one in waiting:
        jobs.add_metric([one.kind, "queued"], one.queued)
        jobs.add_metric([one.kind, "running"], one.running)
        jobs.add_metric([one.kind, "expired"], one.expired)
        oldest.add_metric([one.kind], one.oldest.total_seconds() if one.oldest else 0)
    queues, numbers = _gauge("occurrent_queue_jobs", QUEUE_JOBS, ["queue"]), sum_queues(waiting)
    for queue in settings.QUEUES:
        queues.add_metric([queue], numbers.get(queue, 0))
    yield from (jobs, oldest, queues)


def collect_trail() -> Iterator[Metric]:
    """Yield the length and the age of the audit trail, and of the backup."""
    trail, last, good = find_trail(), last_backup(), last_good_backup()
    events = CounterMetricFamily("occurrent_audit_events_total", "Events of the audit trail.")
    events.add_metric([], trail.sequence)
    yield events
    yield _build_age("occurrent_audit_head_age_seconds", "Age of its last event.", trail.at)
    yield _build_age(
        "occurrent_backup_age_seconds", "Age of the last good backup.", good.at if good else None
    )
    failed = _gauge("occurrent_backup_failed", "1 if the last backup failed.")
    failed.add_metric([], float(last is not None and not last.ok))
    yield failed


def collect_messages() -> Iterator[Metric]:
    """Yield mails that wait, and deliveries that failed."""
    messages = count_messages()
    mails = _gauge("occurrent_mails", "Mails by state, at most 10,000.", ["state"])
    mails.add_metric(["waiting"], messages.waiting)
    mails.add_metric(["given_up"], messages.given_up)
    deliveries = _gauge("occurrent_failed_deliveries", "Webhook deliveries that failed.")
    deliveries.add_metric([], messages.failed_deliveries)
    yield from (mails, deliveries)


def _build_age(name: str, help: str, at: datetime | None) -> Metric:
    """Return a gauge of the seconds since then; without a value for never."""
    family = _gauge(name, help)
    if at is not None:
        family.add_metric([], (timezone.now() - at).total_seconds())
    return family


def _gauge(name: str, help: str, labels: Sequence[str] = ()) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help, labels=labels)
