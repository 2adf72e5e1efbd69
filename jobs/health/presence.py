"""Which workers are alive, and which queues they serve.

Each worker writes a line into a hash of the broker every few seconds, by the broker's clock. Workers
can do nothing without the broker, so nothing is lost with it (docs/adr/0072-metrics-and-health.md).
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from accounts.wording import describe_duration
from jobs.health.broker import AWAY, open_broker

logger = logging.getLogger(__name__)

KEY = "occurrent:workers"
SWEPT = "occurrent:swept"
BEAT_SECONDS = 10.0
#: A worker that is silent for longer is not alive: three beats, and some delay.
ALIVE_SECONDS = 35.0
#: Its last line is shown for so long.
FORGET_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker says of itself: names and numbers of ours."""

    machine: str
    pid: int
    queues: tuple[str, ...]
    pool: str
    processes: int

    @property
    def name(self) -> str:
        """Return the beginning of the name under which it claims jobs."""
        return f"{self.machine}:{self.pid}"


@dataclass(frozen=True, slots=True)
class Presence:
    """A worker, and how many seconds ago it wrote its last line."""

    worker: Worker
    silent: float

    @property
    def alive(self) -> bool:
        """Return True if the worker wrote recently."""
        return self.silent <= ALIVE_SECONDS

    @property
    def silent_words(self) -> str:
        """Return how long it was silent, in words."""
        return describe_duration(timedelta(seconds=self.silent))


def describe_this_worker(queues: Sequence[str], pool: str, processes: int) -> Worker:
    """Return this process as a worker of those queues."""
    return Worker(socket.gethostname(), os.getpid(), tuple(queues), pool, processes)


def report(worker: Worker) -> None:
    """Write the line of the worker. Raises one of AWAY."""
    with open_broker() as broker:
        line = {**asdict(worker), "at": _now(broker)}
        broker.hset(KEY, worker.name, json.dumps(line))


def forget(worker: Worker) -> None:
    """Remove the line of a worker that ends in order."""
    try:
        with open_broker() as broker:
            broker.hdel(KEY, worker.name)
    except AWAY:
        logger.info("the broker did not hear that worker %s ends", worker.name)


def find_workers(broker: Any) -> list[Presence]:
    """Return the workers of the last day, alive ones first."""
    now, found = _now(broker), []
    for name, text in broker.hgetall(KEY).items():
        presence = _parse(text, now)
        if presence is None or presence.silent > FORGET_SECONDS:
            broker.hdel(KEY, name)
        else:
            found.append(presence)
    return sorted(found, key=lambda one: (not one.alive, one.worker.name))


def _parse(text: str, now: float) -> Presence | None:
    """Return a line; None for one that another version wrote otherwise."""
    try:
        line = json.loads(text)
        silent = max(0.0, now - line.pop("at"))
        return Presence(Worker(**{**line, "queues": tuple(line["queues"])}), silent)
    except (KeyError, TypeError, ValueError):
        return None


def note_sweep() -> None:
    """Note that the sweeper ran, so that a missing scheduler is noticed."""
    try:
        with open_broker() as broker:
            broker.set(SWEPT, _now(broker))
    except AWAY:
        logger.warning("the broker did not take the time of the sweep")


def find_sweep_age(broker: Any) -> float | None:
    """Return how many seconds ago the sweeper ran; None if it never did."""
    at = broker.get(SWEPT)
    return None if at is None else max(0.0, _now(broker) - float(at))


def _now(broker: Any) -> float:
    seconds, micros = broker.time()
    return float(seconds + micros / 1e6)


class Reporter:
    """The thread of a worker's main process that writes its line.

    A fork of the process waits until a line is written, so that no lock of a library is copied in
    use.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._ended = threading.Event()
        self._writing = threading.Lock()
        os.register_at_fork(
            before=self._writing.acquire,
            after_in_parent=self._writing.release,
            after_in_child=self._writing.release,
        )
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        """Write the first line and go on."""
        self._thread.start()

    def stop(self) -> None:
        """End, and remove the line."""
        self._ended.set()
        self._thread.join()
        forget(self._worker)

    def _run(self) -> None:
        away = False
        while not self._ended.is_set():
            try:
                with self._writing:
                    report(self._worker)
                away = False
            except AWAY:
                if not away:  # said once
                    logger.warning("the broker did not take the worker's sign of life")
                away = True
            self._ended.wait(BEAT_SECONDS)
