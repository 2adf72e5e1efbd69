"""Let only a few requests of this process check passwords at once.

A check costs a third of a second of processor time, on purpose. Without a gate, a few clients that
send names and passwords would keep every thread and every core busy.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from accounts.requests.limits import TooManyRequests

#: So many more may wait, and so long; the others are asked to come again.
WAITING, PATIENCE_SECONDS = 3, 2.0
RETRY_SECONDS = 5


class Gate:
    """Admits `places` at once, and lets `WAITING` more wait.

    One address never has all of them, so that another one gets its turn.
    """

    def __init__(self, places: int) -> None:
        self._checks = threading.BoundedSemaphore(places)
        self._most = places + WAITING
        self._present: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def enter(self, address: str) -> Iterator[None]:
        """Wait for a turn. Raises TooManyRequests."""
        self._arrive(address)
        try:
            if not self._checks.acquire(timeout=PATIENCE_SECONDS):
                raise TooManyRequests(RETRY_SECONDS)
            try:
                yield
            finally:
                self._checks.release()
        finally:
            self._leave(address)

    def _arrive(self, address: str) -> None:
        with self._lock:
            full = self._present.total() >= self._most
            if full or self._present[address] >= self._most - 1:
                raise TooManyRequests(RETRY_SECONDS)
            self._present[address] += 1

    def _leave(self, address: str) -> None:
        with self._lock:
            self._present[address] -= 1
            if not self._present[address]:
                del self._present[address]


#: That of this process.
password_gate = Gate(settings.PASSWORD_CHECKS)
