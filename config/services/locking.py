"""A lock that lets one process at a time start the services.

The operating system releases it when its holder ends, so it is never stale.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.services.errors import ServiceError

POLL_SECONDS = 0.05


@contextmanager
def exclusive(path: Path, *, timeout: float = 120.0) -> Iterator[None]:
    """Hold the lock on `path`.

    Raises ServiceError after `timeout` seconds of waiting for another holder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    with path.open("w") as file:
        while not _try_lock(file.fileno()):
            if time.monotonic() > deadline:
                raise ServiceError(
                    f"Another process has been starting the services for {timeout:.0f} s. Stop it,"
                    " then try again."
                )
            time.sleep(POLL_SECONDS)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
