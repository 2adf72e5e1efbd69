"""Limit the concurrent requests of an endpoint.

Each request takes a slot and returns it.

`LocalSlots` limits all threads and event loops of a process; `shared_slots.SharedSlots` limits all
processes that share a database. Slots go to the longest-waiting caller first.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol


class Slots(Protocol):
    """Where slots of endpoints are taken from."""

    def slot(self, endpoint: str, limit: int) -> AbstractAsyncContextManager[None]:
        """Take one of the endpoint's `limit` slots, waiting without end.

        Cancelling the task that waits gives up its place.
        """
        ...


@dataclass(eq=False, slots=True)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]
    granted: bool = False


class Gate:
    """Lets at most `ceiling` through at once, in order of arrival.

    The ceiling may change at any time.

    `changed` is called, outside of any lock, whenever somebody begins to wait or leaves.
    """

    def __init__(self, ceiling: int, changed: Callable[[], None] = lambda: None) -> None:
        self._ceiling = ceiling
        self._changed = changed
        self._in_use = 0
        self._waiting: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Occupy a slot while the block runs."""
        await self._enter()
        try:
            yield
        finally:
            self._leave()

    def usage(self) -> tuple[int, int, int]:
        """(slots in use, tasks that wait, ceiling) at one moment."""
        with self._lock:
            return self._in_use, len(self._waiting), self._ceiling

    def freeze(self) -> tuple[int, int]:
        """Let nobody else in until `open`.

        Except those who take the place of one that leaves. Returns (slots in use, tasks that wait).
        """
        with self._lock:
            self._ceiling = min(self._ceiling, self._in_use)
            return self._in_use, len(self._waiting)

    def open(self, ceiling: int) -> None:
        """Set the ceiling and let in those it has room for.

        Those who are in stay in.
        """
        with self._lock:
            self._ceiling = ceiling
            self._admit()

    async def _enter(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            if not self._waiting and self._in_use < self._ceiling:
                self._in_use += 1
                return
            waiter = _Waiter(loop, loop.create_future())
            self._waiting.append(waiter)
        self._changed()
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
        self._changed()

    def _admit(self) -> None:
        while self._waiting and self._in_use < self._ceiling:
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


class LocalSlots:
    """A limit for each endpoint in this process; the latest limit applies."""

    def __init__(self) -> None:
        self._gates: dict[str, tuple[int, Gate]] = {}
        self._lock = threading.Lock()

    def slot(self, endpoint: str, limit: int) -> AbstractAsyncContextManager[None]:
        """As `Slots.slot`."""
        with self._lock:
            known, gate = self._gates.get(endpoint) or (limit, Gate(limit))
            self._gates[endpoint] = (limit, gate)
        if known != limit:
            gate.open(limit)
        return gate.slot()


#: The slots of a process that shares none.
LOCAL_SLOTS = LocalSlots()
