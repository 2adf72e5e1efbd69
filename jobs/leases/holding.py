"""Keep the lease of a claimed job while it runs, and guard its writes.

job = claim(StageRun, job_id)
with keep_lease(job) as hold:
    for batch in batches:
        hold.check()                 # raises if the work must end
        result = model(batch)        # no transaction spans a model call
        with write_guard(hold):      # one transaction: fence checked, batch stored
            store(result)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection

from jobs.leases.clock import default_lease
from jobs.leases.heartbeat import Heartbeat
from jobs.leases.hold import Hold, TimeLimit
from jobs.models import ClaimableJob


def make_hold(job: ClaimableJob, limit: TimeLimit | None = None) -> Hold:
    """The hold on a job that `claim` just returned, without a heartbeat."""
    return Hold(type(job), job.pk, job.fence, job.attempt, limit)


@contextmanager
def keep_lease(
    job: ClaimableJob,
    *,
    lease: timedelta | None = None,
    interval: timedelta | None = None,
    limit: TimeLimit | None = None,
    overdue: Callable[[Hold], None] = lambda hold: None,
) -> Iterator[Hold]:
    """Extend the lease from a separate thread while the block runs.

    The thread has its own connection. `interval` defaults to a third of the lease. `overdue` is
    called from that thread, once, for work that goes on past its limit without a check. Raises
    RuntimeError inside a transaction: the heartbeat could not see the row.
    """
    if connection.in_atomic_block:
        raise RuntimeError("keep_lease() needs committed rows: it was called inside a transaction")
    lease = lease or default_lease()
    hold = make_hold(job, limit)
    heartbeat = Heartbeat(hold, lease=lease, interval=interval or lease / 3, overdue=overdue)
    heartbeat.start()
    try:
        yield hold
    finally:
        heartbeat.stop()
