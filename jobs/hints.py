"""Telling workers that a row waits. A hint may be lost or doubled without harm: the row is the queue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q

from jobs.claims import claimable
from jobs.clock import database_time
from jobs.models import ClaimableJob
from jobs.registry import JobKind, kind_of

#: A row that nobody claimed this long after its hint is told of again.
RESEND_AFTER = timedelta(minutes=2)
#: Hints of one kind in one sweep: enough to keep every worker busy, too few to pile up behind long stages.
SWEEP_LIMIT = 200


def send_hints(job_class: type[ClaimableJob], job_ids: Sequence[int]) -> None:
    """Tell the workers of these rows as soon as the transaction commits, and remember when."""
    if job_ids:
        ids = list(job_ids)
        job_class._default_manager.filter(pk__in=ids).update(hinted_at=database_time())
        transaction.on_commit(lambda: kind_of(job_class).send(ids))


def resend_hints(kind: JobKind) -> int:
    """Send hints for rows that wait unheard, longest-waiting first; returns how many."""
    unheard = Q(hinted_at__isnull=True) | Q(hinted_at__lte=database_time(-RESEND_AFTER)) | Q(lease_expires_at__gt=F("hinted_at"))
    waiting = kind.runnable(kind.job_class._default_manager.filter(claimable(), unheard))
    ids = list(waiting.order_by(F("hinted_at").asc(nulls_first=True), "pk").values_list("pk", flat=True)[:SWEEP_LIMIT])
    send_hints(kind.job_class, ids)
    return len(ids)
