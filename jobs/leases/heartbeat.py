"""The thread that extends a lease while the work goes on.

It has its own database connection.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import DatabaseError, InterfaceError, connection

from jobs.errors import LostLease
from jobs.leases.clock import database_time
from jobs.leases.hold import Hold

logger = logging.getLogger(__name__)


#: Seconds between checks for a cancellation, between two heartbeats.
LOOK_SECONDS = 2.0
#: How long past its limit work may go on without a check before its job is failed from outside.
GRACE_SECONDS = 15.0


class Heartbeat:
    """Extends the lease every `interval`; sets `hold.lost`, `hold.cancelled`.

    If a lease ran out while the machine slept, it is renewed unless another worker took the job:
    the fence is unchanged, so there is still one holder. If the database is away, the heartbeat
    waits until the lease must count as lost.
    """

    def __init__(
        self, hold: Hold, *, lease: timedelta, interval: timedelta, overdue: Callable[[Hold], None]
    ) -> None:
        self._hold = hold
        self._lease = lease
        self._interval = interval.total_seconds()
        self._overdue = overdue
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"heartbeat-{hold.job_id}", daemon=True
        )

    def start(self) -> None:
        """Begin beating after one interval (the claim itself was the first beat)."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and its connection; returns when both are gone."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        confirmed = beaten = time.monotonic()
        try:
            while (
                not self._stop.wait(min(self._interval, LOOK_SECONDS))
                and not self._hold.lost.is_set()
            ):
                now = time.monotonic()
                if self._hold.seconds_left() < -GRACE_SECONDS:
                    self._fail_job()
                elif now - beaten < self._interval:
                    self._check_cancelled()
                elif self._beat():
                    confirmed = beaten = now
                elif now - confirmed > self._lease.total_seconds():
                    self._hold.lost.set()
        finally:
            connection.close()

    def _check_cancelled(self) -> None:
        """Check for a cancellation.

        If the database does not answer, the next heartbeat handles that.
        """
        try:
            if self._hold.row.filter(cancel_requested=True).exists():
                self._hold.cancelled.set()
        except (DatabaseError, InterfaceError):
            connection.close()

    def _fail_job(self) -> None:
        """Fail the job from this thread, because the work does not check.

        Anything that the work stores later is refused.
        """
        try:
            self._overdue(self._hold)
        except (DatabaseError, InterfaceError, LostLease):
            logger.warning(
                "job %s is past its limit and could not be failed", self._hold.job_id, exc_info=True
            )
            connection.close()
        self._hold.lost.set()

    def _beat(self) -> bool:
        """Send one heartbeat; return False if the database did not answer."""
        try:
            row = self._hold.row
            if (
                row.update(
                    heartbeat_at=database_time(), lease_expires_at=database_time(self._lease)
                )
                != 1
            ):
                self._hold.lost.set()
            elif row.filter(cancel_requested=True).exists():
                self._hold.cancelled.set()
        except (DatabaseError, InterfaceError):
            logger.warning("heartbeat of job %s failed; trying again", self._hold.job_id)
            connection.close()
            return False
        return True
