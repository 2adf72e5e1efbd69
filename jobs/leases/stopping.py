"""A flag that this worker was asked to end.

The worker's jobs go back to the queue at their next check (`jobs.leases.holding`).
"""

from __future__ import annotations

import mmap

# One byte of memory that a worker's main process shares with those it forks: the signal to end
# reaches the main process alone.
_asked = mmap.mmap(-1, 1)


def request_stop(*args: object, **options: object) -> None:
    """Ask every process of this worker to give its job back.

    It may be called from a signal handler.
    """
    _asked[0] = 1


def is_stop_requested() -> bool:
    """Whether somebody did."""
    return _asked[0] != 0
