"""Folders of test sessions' servers; removal of killed sessions' remains."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil

from config.services import embedded
from config.services.errors import ServiceError
from config.services.paths import ServicePaths

VAR_VARIABLE = "OCCURRENT_TEST_VAR"
#: Which of pytest-xdist's workers the directory belongs to.
WORKER_VARIABLE = "OCCURRENT_TEST_WORKER"


def sessions_root() -> Path:
    """The directory of all test sessions of this user."""
    return Path(tempfile.gettempdir()) / f"occurrent-tests-{os.geteuid()}"


def session_var(pid: int) -> Path:
    """The `var` directory of the session of that process."""
    return sessions_root() / str(pid) / "var"


def remove_session(var: Path) -> None:
    """Stop a session's servers and delete its data."""
    paths = ServicePaths(var)
    if var.exists():
        embedded.stop(paths)
    for directory in {var, paths.state, paths.sockets}:
        shutil.rmtree(directory, ignore_errors=True)
    shutil.rmtree(var.parent, ignore_errors=True)


def remove_dead_sessions() -> None:
    """Remove the sessions whose process is gone."""
    for directory in sessions_root().glob("*"):
        if directory.name.isdigit() and not psutil.pid_exists(int(directory.name)):
            # another session removes it at the same time, its lock included
            with suppress(ServiceError):
                remove_session(directory / "var")
