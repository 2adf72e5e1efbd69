"""What the broker knows: sums of all processes, messages, workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.conf import settings
from prometheus_client.core import GaugeMetricFamily, Metric

# Both declare counters, which the page has from the beginning.
import llm_runtime.servers.counting  # noqa: F401
from jobs.health.broker import count_messages, open_broker
from jobs.health.presence import Presence, find_sweep_age, find_workers
from jobs.metrics.counters import flush
from jobs.metrics.stored import build_families, load_stored


def collect() -> Iterator[Metric]:
    """Yield counters, histograms, and the state of queues and workers."""
    flush()  # what this process has counted is on the page that it serves
    with open_broker() as broker:
        stored, workers, swept = load_stored(broker), find_workers(broker), find_sweep_age(broker)
        messages = count_messages(broker)
    yield from build_families(stored)
    yield _build_by_queue("occurrent_queue_messages", "Messages that wait at the broker.", messages)
    yield _build_by_queue(
        "occurrent_workers", "Workers alive that serve the queue.", count_by_queue(workers)
    )
    age = GaugeMetricFamily(
        "occurrent_sweep_age_seconds", "Seconds since the scheduler's sweep ran in a worker."
    )
    if swept is not None:
        age.add_metric([], swept)
    yield age


def count_by_queue(workers: list[Presence]) -> dict[str, int]:
    """Return how many workers that are alive serve each queue."""
    alive = Counter(queue for one in workers if one.alive for queue in one.worker.queues)
    return {queue: alive[queue] for queue in settings.QUEUES}


def _build_by_queue(name: str, help: str, numbers: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, help, labels=["queue"])
    for queue, number in numbers.items():
        family.add_metric([queue], number)
    return family
