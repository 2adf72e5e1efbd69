"""One foreground process that keeps other processes running.

It restarts children that end and services that are killed, and stops all when it stops.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from config.env import BASE_DIR
from config.services import embedded
from config.services.errors import ServiceError, explain_file_errors
from config.services.log_files import rotate
from config.services.paths import ServicePaths
from config.services.processes import is_alive

TICK_SECONDS = 1.0
STOP_SECONDS = 20.0
AFTER_KILL_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0
#: A child that never ran for long is given up after so many ends: a person has to fix something.
MOST_FAILURES_AT_FIRST = 3
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A process to keep running.

    `failures` counts its ends in a row and spaces the restarts. `after_kill` is a command that runs
    when everything stops, with the ids of the processes that did not end in time.
    """

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    after_kill: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    was_steady: bool = False
    started: float = 0.0
    next_start: float = 0.0


class Supervisor:
    """Keeps the embedded services and the added children running.

    Use it as a context manager, which stops them at its end.
    """

    def __init__(self, paths: ServicePaths, say: Callable[[str], None] = print) -> None:
        self._paths = paths
        self._say = say
        self._children: list[Child] = []
        self._started_services: list[str] = []
        self._trouble = ""  # said once, however often it comes back

    def __enter__(self) -> Supervisor:
        self._started_services = embedded.ensure_environment(self._paths)
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def logs(self) -> Path:
        """Return the folder of the children's logs."""
        return self._paths.var / "log"

    def add(self, child: Child) -> None:
        """Start a child and keep it running from now on."""
        self._children.append(child)
        self._start(child)

    def tick(self) -> None:
        """Restart what has ended. Call it about once a second.

        Raises ServiceError for a child that never runs for long.
        """
        try:
            for name in embedded.ensure_environment(self._paths):
                self._say(f"{name} had ended and was started again")
            self._trouble = ""
        except ServiceError as error:
            if str(error) != self._trouble:
                self._say(str(error))
            self._trouble = str(error)
        for child in self._children:
            self._revive(child)
        self._rotate_logs()

    def watch(self, until: Callable[[], bool]) -> None:
        """Tick until the condition is true."""
        while not until():
            self.tick()
            time.sleep(TICK_SECONDS)

    def stop(self) -> None:
        """Stop every child, the last added first, then the started services."""
        stop_children(self._children, self._say)
        self._children.clear()
        embedded.stop(self._paths, self._started_services)

    def _rotate_logs(self) -> None:
        """Limit the logs of the children and of the broker.

        PostgreSQL rotates its own. A full disk stops the copies, and nothing else.
        """
        with suppress(OSError):
            for child in self._children:
                rotate(self.logs / f"{child.name}.log")
            rotate(self._paths.logs / "broker.log")

    def _revive(self, child: Child) -> None:
        """Record an end, wait longer after each one in a row, then restart."""
        if child.process is None:
            if time.monotonic() >= child.next_start:
                self._start(child)
            return
        status = child.process.poll()
        if status is None:
            if time.monotonic() - child.started > STEADY_SECONDS:
                child.failures, child.was_steady = 0, True
            return
        child.failures += 1
        pause = min(LONGEST_PAUSE_SECONDS, 2.0 ** (child.failures - 1))
        child.next_start = time.monotonic() + pause
        kill_group(child)
        child.process = None
        if child.failures >= MOST_FAILURES_AT_FIRST and not child.was_steady:
            raise ServiceError(
                f"{child.name} ended {child.failures} times in a row ({_describe_status(status)}):"
                f" {self._last_line(child)}"
            )
        self._say(
            f"{child.name} ended ({_describe_status(status)}) and is started again in {pause:.0f} s; see"
            f" {self.logs / child.name}.log"
        )

    def _last_line(self, child: Child) -> str:
        """Return the last line of the child's log and the log's path."""
        log = self.logs / f"{child.name}.log"
        lines = log.read_text(errors="replace").strip().splitlines()
        return f"{lines[-1][-500:] if lines else 'it said nothing'}. Its log is {log}."

    @explain_file_errors()
    def _start(self, child: Child) -> None:
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = self.logs / f"{child.name}.log"
        child.started = time.monotonic()
        with log.open("ab") as output:
            start(child, output)


def start(child: Child, output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start the child as the leader of its own group.

    It ends with this process. It writes to `output`, by default to this process's own.
    """
    child.process = subprocess.Popen(
        child.command,
        env={**os.environ, **child.environment},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )
    return child.process


def stop_children(children: Sequence[Child], say: Callable[[str], None]) -> None:
    """Stop the children, the last one first.

    Those that do not end in time are killed. The signal goes to the leader alone: a worker lets its
    processes hand their jobs back, and a signal would end them at work.
    """
    for child in reversed(children):
        _signal_leader(child, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for child in reversed(children):
        _wait(child, deadline)
        late = _members(child)
        kill_group(child)
        _run_after_kill(child, late, say)


def _run_after_kill(child: Child, pids: list[int], say: Callable[[str], None]) -> None:
    """Run the child's `after_kill` command after its processes were killed.

    A failure is only printed.
    """
    if not pids or not child.after_kill:
        return
    say(f"{child.name} did not end in {STOP_SECONDS:.0f} s and was killed")
    command = [*child.after_kill, *map(str, pids)]
    try:
        done = subprocess.run(
            command,
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            timeout=AFTER_KILL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        say(f"what follows the end of {child.name} took too long")
        return
    say((done.stdout if done.returncode == 0 else done.stderr).strip().rpartition("\n")[2])


def _end_with_parent() -> None:
    """Ask Linux to end this process when the supervisor dies, even by kill -9.

    On other systems the port check names the orphan.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _signal_leader(child: Child, number: int) -> None:
    if child.process is not None:
        child.process.send_signal(number)  # does nothing if it has ended


def _members(child: Child) -> list[int]:
    """Return the running processes of the child's own process group."""
    if child.process is None:
        return []
    return [
        process.pid
        for process in psutil.process_iter()
        if _group(process.pid) == child.process.pid and is_alive(process)
    ]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def kill_group(child: Child) -> None:
    """Kill every process of the child's group that is left."""
    if child.process is None:
        return
    with suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)


def _wait(child: Child, deadline: float) -> None:
    if child.process is None:
        return
    try:
        child.process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return


def _describe_status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
