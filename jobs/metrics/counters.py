"""Counters and histograms of all processes.

A process adds up for a few seconds and sends the sums to a hash of the broker, from which one page
shows them (docs/adr/0072-metrics-and-health.md). Nothing is counted without METRICS_TOKEN.

Values of labels come from closed sets: names of kinds, stages, roles, models and routes, never text
of a note, a row or a request.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from jobs.health.broker import AWAY, open_broker

logger = logging.getLogger(__name__)

KEY = "occurrent:metrics"
FLUSH_SECONDS = 5.0
#: Upper bounds of requests in seconds.
QUICK = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Upper bounds of stages, jobs and calls of models in seconds.
LONG = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0)


@dataclass(frozen=True)
class Counter:
    """A number that only grows; its name ends in `_total`."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _declared[self.name] = self

    def add(self, *values: str, amount: float = 1) -> None:
        """Count `amount` for these values of the labels."""
        _check(self.labels, values)
        _pending.add({_field(self.name, values): amount})


@dataclass(frozen=True)
class Histogram:
    """How many durations were at most each of `bounds` seconds."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = LONG

    def __post_init__(self) -> None:
        _declared[self.name] = self

    def observe(self, *values: str, seconds: float) -> None:
        """Count a duration for these values of the labels."""
        _check(self.labels, values)
        place = bisect_left(self.bounds, seconds)
        bound = f"{self.bounds[place]:g}" if place < len(self.bounds) else "+Inf"
        _pending.add(
            {
                _field(f"{self.name}_bucket", (*values, bound)): 1,
                _field(f"{self.name}_sum", values): seconds,
            }
        )


_declared: dict[str, Counter | Histogram] = {}


def declared() -> list[Counter | Histogram]:
    """Return every counter and histogram, by name."""
    return [_declared[name] for name in sorted(_declared)]


class _Pending:
    """Sums that the broker does not have yet.

    Their number is limited, because values of labels come from closed sets.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, float] = defaultdict(float)
        self._thread: threading.Thread | None = None

    def add(self, amounts: dict[str, float]) -> None:
        if not settings.METRICS_TOKEN:
            return
        with self._lock:
            for field, amount in amounts.items():
                self._sums[field] += amount
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Send the sums; what the broker does not take waits."""
        with self._lock:
            sums, self._sums = self._sums, defaultdict(float)
        if not sums:
            return
        try:
            with open_broker() as broker, broker.pipeline(transaction=True) as pipeline:
                for field, amount in sums.items():
                    pipeline.hincrbyfloat(KEY, field, amount)
                pipeline.execute()
        except AWAY:
            with self._lock:
                for field, amount in sums.items():
                    self._sums[field] += amount

    def forget(self) -> None:
        """Begin anew in a forked process: the sums are its parent's."""
        self._lock, self._sums, self._thread = threading.Lock(), defaultdict(float), None

    def _run(self) -> None:
        ended = threading.Event()
        while not ended.wait(FLUSH_SECONDS):
            self.flush()


_pending = _Pending()
flush = _pending.flush
atexit.register(flush)
os.register_at_fork(after_in_child=_pending.forget)


def _check(labels: Sequence[str], values: Sequence[str]) -> None:
    if len(labels) != len(values):
        raise ValueError(f"values for the labels {', '.join(labels)} are needed")


def _field(name: str, values: Sequence[str]) -> str:
    return json.dumps([name, *values])
