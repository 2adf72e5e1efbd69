"""One foreground process that keeps others running: restarts what ends, restarts killed services, stops everything with itself."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from config.services import embedded
from config.services.errors import ServiceError
from config.services.paths import ServicePaths

TICK_SECONDS = 1.0
STOP_SECONDS = 20.0
LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0
LARGEST_LOG_BYTES = 20_000_000
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A process to keep running; `failures` counts its ends in a row and spaces the restarts."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    started: float = 0.0
    next_start: float = 0.0


class Supervisor:
    """Keeps the embedded services and the added children running; use as a context manager, which stops them at its end."""

    def __init__(self, paths: ServicePaths, say: Callable[[str], None] = print) -> None:
        self._paths = paths
        self._say = say
        self._children: list[Child] = []
        self._started_services: list[str] = []

    def __enter__(self) -> Supervisor:
        self._started_services = embedded.ensure_environment(self._paths)
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def logs(self) -> Path:
        """Where the children write."""
        return self._paths.var / "log"

    def add(self, child: Child) -> None:
        """Start a child and keep it running from now on."""
        self._children.append(child)
        self._start(child)

    def tick(self) -> None:
        """Restart what has ended; to be called about once a second."""
        try:
            for name in embedded.ensure_environment(self._paths):
                self._say(f"{name} had ended and was started again")
        except ServiceError as error:
            self._say(str(error))
        for child in self._children:
            self._revive(child)

    def watch(self, until: Callable[[], bool]) -> None:
        """Tick until the condition holds."""
        while not until():
            self.tick()
            time.sleep(TICK_SECONDS)

    def stop(self) -> None:
        """Ask every child to end, the last added first, kill those that do not, then stop the services started here."""
        for child in reversed(self._children):
            _signal_group(child, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for child in reversed(self._children):
            _wait(child, deadline)
            _signal_group(child, signal.SIGKILL)
        self._children.clear()
        embedded.stop(self._paths, self._started_services)

    def _revive(self, child: Child) -> None:
        """Note an end, wait a little longer after each one in a row, then start again."""
        if child.process is None:
            if time.monotonic() >= child.next_start:
                self._start(child)
            return
        status = child.process.poll()
        if status is None:
            if time.monotonic() - child.started > STEADY_SECONDS:
                child.failures = 0
            return
        child.failures += 1
        pause = min(LONGEST_PAUSE_SECONDS, 2.0 ** (child.failures - 1))
        child.next_start = time.monotonic() + pause
        _signal_group(child, signal.SIGKILL)
        child.process = None
        self._say(f"{child.name} ended ({_words(status)}) and is started again in {pause:.0f} s; see {self.logs / child.name}.log")

    def _start(self, child: Child) -> None:
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = self.logs / f"{child.name}.log"
        if log.exists() and log.stat().st_size > LARGEST_LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        child.started = time.monotonic()
        with log.open("ab") as output:
            child.process = subprocess.Popen(
                child.command,
                env={**os.environ, **child.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )


def _end_with_parent() -> None:
    """Ask Linux to end this process when the supervisor dies, even by kill -9; elsewhere the port check names the orphan."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _signal_group(child: Child, number: int) -> None:
    if child.process is None:
        return
    try:
        os.killpg(child.process.pid, number)
    except ProcessLookupError:
        return


def _wait(child: Child, deadline: float) -> None:
    if child.process is None:
        return
    try:
        child.process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return


def _words(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
