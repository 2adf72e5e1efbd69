"""List, await and end server processes.

A pid in a file proves nothing: it may by now be that of a zombie or another program.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

import psutil

POLL_SECONDS = 0.05


def find_processes(directory: Path) -> list[psutil.Process]:
    """Return the live processes whose working directory is `directory`.

    Each of our servers runs in its own data directory.
    """
    resolved = str(directory.resolve())
    return [process for process in psutil.process_iter() if _is_in_directory(process, resolved)]


def is_alive(process: psutil.Process) -> bool:
    """True for a process that still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Poll `condition` until it is true (True) or the time is over (False)."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def end(processes: list[psutil.Process], *, signal: int, patience: float) -> None:
    """Send `signal` and wait; kill those left after `patience` seconds."""
    for process in processes:
        _send(process, signal)
    if not wait_until(lambda: not any(map(is_alive, processes)), seconds=patience):
        for process in filter(is_alive, processes):
            _send(process, SIGKILL)
        wait_until(lambda: not any(map(is_alive, processes)), seconds=patience)


def find_listener(port: int) -> str | None:
    """Return the process that listens on a TCP port, as "name (pid 123)".

    Returns None if the system does not say.
    """
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        if (
            connection.status == psutil.CONN_LISTEN
            and connection.laddr.port == port
            and connection.pid
        ):
            with suppress(psutil.Error):  # it has ended since
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return None


def _is_in_directory(process: psutil.Process, directory: str) -> bool:
    try:
        return process.cwd() == directory and is_alive(process)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def _send(process: psutil.Process, signal: int) -> None:
    try:
        process.send_signal(signal)
    except psutil.NoSuchProcess:
        return
