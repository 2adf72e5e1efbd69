"""After a restore: interrupted jobs wait again, and older claims are void."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import transaction

from jobs.actions import cancel_all, finish, recover, retry
from jobs.errors import LostLease
from jobs.leases.claims import claim
from jobs.leases.holding import make_hold
from jobs.models import JobState
from tests import factories
from tests.worlds.job_rows import stage_row, stage_rows
from timelines.models import StageRun

pytestmark = pytest.mark.django_db(transaction=True)


def take(job: StageRun) -> StageRun:
    taken = claim(StageRun, job.pk)
    assert taken is not None
    return taken


def test_a_claim_of_before_cannot_write_although_the_numbers_of_claims_repeat():
    before = take(stage_row())
    # The backup was made before that claim: in the restored database it never happened.
    StageRun.objects.filter(pk=before.pk).update(
        state=JobState.QUEUED, fence=0, attempt=0, lease_expires_at=None
    )
    assert recover(jobs=StageRun.objects.all()) == 0
    after = take(before)
    assert after.fence > before.fence
    with pytest.raises(LostLease):
        finish(hold=make_hold(before))
    finish(hold=make_hold(after))
    assert StageRun.objects.get().state == JobState.SUCCEEDED


def test_interrupted_jobs_wait_again_without_losing_an_attempt():
    running, stopping, failed, done = stage_rows(4)
    person = factories.make_user()
    take(running)
    take(stopping)
    cancel_all(jobs=StageRun.objects.filter(pk=stopping.pk), by=person, study=None)
    StageRun.objects.filter(pk=failed.pk).update(state=JobState.FAILED, fence=3)
    StageRun.objects.filter(pk=done.pk).update(state=JobState.SUCCEEDED, fence=1)
    out = StringIO()
    with transaction.atomic():
        call_command("recover_jobs", stdout=out)
    assert out.getvalue() == "2 jobs queued again\n"
    states = dict(StageRun.objects.values_list("pk", "state"))
    assert states == {
        running.pk: JobState.QUEUED,
        stopping.pk: JobState.CANCELLED,
        failed.pk: JobState.FAILED,
        done.pk: JobState.SUCCEEDED,
    }
    running.refresh_from_db()
    assert (running.attempt, running.worker, running.lease_expires_at) == (0, "", None)
    # A failed job may be retried, and then claimed with the next number.
    failed.refresh_from_db()
    retry(job=failed, by=person, study=None)
    assert take(failed).fence == 1_000_004
    done.refresh_from_db()
    assert done.fence == 1
