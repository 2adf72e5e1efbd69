"""Prepare a run batch by batch.

Starting it then takes as long for 100,000 cases as for one (docs/adr/0038-scale.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connection
from django.db.models import F, Func, QuerySet

from jobs.actions import finish
from jobs.leases.claims import claim
from jobs.leases.hold import Hold, write_guard
from jobs.leases.holding import make_hold
from jobs.models import PreparationJob

P = TypeVar("P", bound=PreparationJob)
#: Cohorts up to this size are prepared in the request that starts the run.
AT_ONCE = 200


def prepare_now(preparation: P, prepare: Callable[[P, Hold], None]) -> None:
    """Do the whole preparation inside the transaction that created it."""
    job = claim(type(preparation), preparation.pk)
    assert job is not None
    hold = make_hold(job)
    prepare(job, hold)
    finish(hold=hold)


@contextmanager
def batch_guard(hold: Hold) -> Iterator[None]:
    """Open a transaction for one batch.

    Raises JobCancelled and LostLease before anything is stored.
    """
    hold.check()
    with write_guard(hold):
        # The guard has locked the job: nobody can ask it to stop before the batch is stored.
        hold.check()
        _forget_plans()
        yield


def wanted_cases(preparation: PreparationJob) -> QuerySet[Any]:
    """Return the requested case ids as a subquery.

    A hundred thousand of them are then not sent along with every batch.
    """
    rows = type(preparation)._default_manager.filter(pk=preparation.pk)
    return rows.annotate(case=Func(F("wanted"), function="unnest")).values("case")


def _forget_plans() -> None:
    """Let the checks of foreign keys be planned for the tables as they are.

    A session plans them once. If the tables were almost empty then, each check of each row would
    read all cases.
    """
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")
