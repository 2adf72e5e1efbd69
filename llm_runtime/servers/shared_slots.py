"""Share the slots of endpoints among all processes of one database.

A process asks for a number of slots at a time, not for each request: one thread keeps a row for
each endpoint that is in use (`EndpointShare`), with the slots the process wants and has. Its limit
follows from all rows together, under a lock of the endpoint that lasts for one short
transaction. Requests then pass a gate in memory. A process that dies leaves rows that expire; one
that wants nothing has none. No transaction lasts over a request.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import connection, transaction

from llm_runtime.calls.shares import divide_slots
from llm_runtime.calls.slots import Gate
from llm_runtime.models import EndpointShare

logger = logging.getLogger(__name__)

#: Seconds that the slots of a process last without a sign of life.
LEASE = 15.0
#: Seconds between two looks while slots are wanted, and at least between two.
TICK, PAUSE = 0.25, 0.02
#: Seconds that a process keeps a slot while others have none.
TURN = 2.0


class SharedSlots:
    """Slots of this process, granted by the database.

    If the database does not answer for longer than the lease, no new request is sent.
    """

    def __init__(self, *, lease: float = LEASE, tick: float = TICK, turn: float = TURN) -> None:
        self._lease, self._tick, self._turn = lease, tick, turn
        self._lock = threading.Lock()
        self._begin()
        atexit.register(self._end)

    def _begin(self) -> None:
        self._holder, self._process = uuid4().hex, os.getpid()
        self._shares: dict[str, _Share] = {}
        self._look = threading.Event()
        self._ending = False
        self._thread: threading.Thread | None = None

    def slot(self, endpoint: str, limit: int) -> AbstractAsyncContextManager[None]:
        """As `Slots.slot`. The limit is that of all processes together."""
        with self._lock:
            if self._process != os.getpid():
                # A fork inherits neither the thread nor the slots of its parent.
                self._begin()
            share = self._shares.get(endpoint)
            if share is None:
                share = self._shares[endpoint] = _Share(endpoint, self._holder, self._look.set)
            share.limit = limit
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="endpoint-slots", daemon=True
                )
                self._thread.start()
        return share.gate.slot()

    def _run(self) -> None:
        while not self._ending:
            self._look.clear()
            idle = True
            for share in list(self._shares.values()):
                idle = share.settle(self._lease, self._turn) and idle
            if idle:
                connection.close()
                self._look.wait()
            else:
                time.sleep(PAUSE)
                self._look.wait(self._tick)
        with suppress(Exception):  # what is left expires
            EndpointShare.objects.filter(holder=self._holder).delete()
        connection.close()

    def _end(self) -> None:
        """Give everything back as the process ends."""
        if self._thread is not None and self._process == os.getpid():
            self._ending = True
            self._look.set()
            self._thread.join(self._lease)


class _Share:
    """This process's part of one endpoint."""

    def __init__(self, endpoint: str, holder: str, look: Callable[[], None]) -> None:
        self.endpoint, self.limit = endpoint, 1
        self._holder, self._look = holder, look
        self._confirmed = time.monotonic()
        self._contended = self._stored = False
        self.gate = Gate(0, self._schedule_settling)

    def _schedule_settling(self) -> None:
        """Settle at once if a slot is missing, else at the next tick.

        Missing here, or one that came free is missing elsewhere.
        """
        in_use, waiting, ceiling = self.gate.usage()
        if self._contended or not in_use or (waiting and in_use >= ceiling):
            self._look()

    def settle(self, lease: float, turn: float) -> bool:
        """Bring row and gate up to date.

        Returns True if nothing is wanted and no row is left.
        """
        in_use, waiting = self.gate.freeze()
        wanted = in_use + waiting
        if not wanted and not self._stored:
            return True
        try:
            with transaction.atomic():
                ceiling = self._compute_ceiling(
                    in_use, wanted, timedelta(seconds=lease), timedelta(seconds=turn)
                )
        except Exception:  # no error may end the thread on which all requests wait
            logger.warning(
                "the slots of an endpoint could not be brought up to date; trying again",
                exc_info=True,
            )
            connection.close()
            if time.monotonic() - self._confirmed > lease:
                self.gate.open(0)
            return False
        self._stored, self._confirmed = bool(wanted), time.monotonic()
        self.gate.open(ceiling)
        return not wanted

    def _compute_ceiling(self, in_use: int, wanted: int, lease: timedelta, turn: timedelta) -> int:
        """Return how many may be in use now.

        Slots above that stay occupied until they end.
        """
        now = _lock_endpoint(self.endpoint)
        rows = EndpointShare.objects.filter(endpoint=self.endpoint)
        if not wanted:
            rows.filter(holder=self._holder).delete()
            self._contended = False
            return 0
        known = {row.holder: row for row in rows}
        row = known.pop(self._holder, None) or EndpointShare(
            endpoint=self.endpoint, holder=self._holder, since=now, held=0
        )
        others = [other for other in known.values() if other.expires_at > now]
        if len(others) < len(known):
            rows.filter(expires_at__lte=now).exclude(holder=self._holder).delete()
        self._contended = any(other.wanted > other.held for other in others)
        if self._contended and row.held and len(others) >= self.limit and row.since < now - turn:
            # More processes than slots take turns: this one has had its own.
            row.since = now
        row.wanted = wanted
        order = sorted([*others, row], key=lambda one: (one.since, one.holder))
        share = divide_slots(self.limit, [(one.holder, one.wanted) for one in order])[self._holder]
        ceiling = min(share, max(0, self.limit - sum(other.held for other in others)))
        row.held, row.expires_at = max(in_use, ceiling), now + lease
        row.save()
        return ceiling


def _lock_endpoint(endpoint: str) -> datetime:
    """Wait until no other transaction divides the endpoint's slots.

    Returns the time on the database's clock then.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"slots of {endpoint}"]
        )
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
