"""Limit the concurrent requests of this process to an endpoint.

One limit covers all threads and event loops of the process. A model server queues by itself, so
the limit only keeps a worker's own requests from timing out in that queue. Slots go to the
longest-waiting caller first.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]
    granted: bool = False


class Gate:
    """Lets a limited number of tasks through at once, in order of arrival."""

    def __init__(self) -> None:
        self._limit = 0
        self._in_use = 0
        self._waiting: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def slot(self, limit: int) -> AsyncIterator[None]:
        """Occupy one of `limit` slots while the block runs.

        The latest limit applies to all.
        """
        await self._enter(limit)
        try:
            yield
        finally:
            self._leave()

    def usage(self) -> tuple[int, int]:
        """(slots in use, tasks that wait) at one moment."""
        with self._lock:
            return self._in_use, len(self._waiting)

    async def _enter(self, limit: int) -> None:
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop, loop.create_future())
        with self._lock:
            self._limit = limit
            self._waiting.append(waiter)
            self._admit()
        try:
            await waiter.turn
        except BaseException:
            self._cancel_wait(waiter)
            raise

    def _cancel_wait(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.granted:
                with suppress(ValueError):
                    self._waiting.remove(waiter)
                return
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._in_use -= 1
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._in_use < self._limit:
            waiter = self._waiting.popleft()
            try:
                waiter.loop.call_soon_threadsafe(_settle, waiter.turn)
            except RuntimeError:  # its event loop is closed: nobody is there to take the slot
                continue
            waiter.granted = True
            self._in_use += 1


def _settle(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


_GATES: dict[str, Gate] = {}
# A forked worker starts with no request of its own.
os.register_at_fork(after_in_child=_GATES.clear)


def take_slot(endpoint: str, limit: int) -> AbstractAsyncContextManager[None]:
    """Occupy one of the endpoint's `limit` slots in this process.

    It waits without end; a cancelled task gives up its place.
    """
    return _GATES.setdefault(endpoint, Gate()).slot(limit)
