"""The heartbeat extends the lease and notices what ends the work.

It notices cancellation and a lost fence; a killed worker's job is taken over.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection

from jobs.actions import cancel_all, stop
from jobs.errors import JobCancelled, LostLease, PermanentFailure
from jobs.leases.claims import claim
from jobs.leases.hold import write_guard
from jobs.leases.holding import keep_lease
from jobs.worker import work
from llm_runtime.base import ProviderError
from tests.worlds.job_rows import expire_lease, stage_row
from timelines.models import StageBatch, StageRun

pytestmark = pytest.mark.django_db(transaction=True)

LEASE, INTERVAL = timedelta(seconds=5), timedelta(milliseconds=50)


def wait_for(condition, seconds: float = 120) -> None:
    """Wait until `condition()`; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def list_heartbeats(job: StageRun) -> list[str]:
    """Return the names of the threads that extend the job's lease."""
    return [t.name for t in threading.enumerate() if t.name == f"heartbeat-{job.pk}"]


def test_the_heartbeat_outlives_the_first_lease_on_a_connection_of_its_own():
    job = claim(StageRun, stage_row().pk, lease=LEASE)
    with keep_lease(job, lease=LEASE, interval=INTERVAL) as hold:
        expire_lease(job)
        wait_for(
            lambda: StageRun.objects.filter(
                pk=job.pk, lease_expires_at__gt=job.lease_expires_at
            ).exists()
        )
        hold.check()
    beaten = StageRun.objects.get(pk=job.pk)
    assert beaten.heartbeat_at > job.heartbeat_at
    assert beaten.fence == job.fence


def test_after_the_block_nothing_extends_the_lease():
    job = claim(StageRun, stage_row().pk, lease=LEASE)
    with keep_lease(job, lease=LEASE, interval=INTERVAL):
        assert len(list_heartbeats(job)) == 1
    assert not list_heartbeats(job)


def test_the_heartbeat_notices_that_another_worker_took_over():
    job = claim(StageRun, stage_row().pk)
    with keep_lease(job, interval=INTERVAL) as hold:
        StageRun.objects.filter(pk=job.pk).update(fence=job.fence + 1)
        wait_for(hold.lost.is_set)
        with pytest.raises(LostLease):
            hold.check()


def test_the_heartbeat_notices_a_cancellation_and_the_worker_obeys(django_user_model):
    admin = django_user_model.objects.create(username="admin")
    job = claim(StageRun, stage_row().pk)
    with keep_lease(job, interval=INTERVAL) as hold:
        assert cancel_all(jobs=StageRun.objects.all(), by=admin, study=None) == 1
        wait_for(hold.cancelled.is_set)
        with pytest.raises(JobCancelled):
            hold.check()
        stop(hold=hold)
    assert StageRun.objects.get(pk=job.pk).state == "cancelled"


def test_a_broken_connection_is_replaced_before_the_lease_ends():
    job = claim(StageRun, stage_row().pk)
    with keep_lease(job, lease=timedelta(seconds=20), interval=INTERVAL) as hold:
        wait_for(lambda: StageRun.objects.get(pk=job.pk).heartbeat_at > job.heartbeat_at)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
            assert cursor.fetchone()[0] >= 1
        broken_at = StageRun.objects.get(pk=job.pk).heartbeat_at
        wait_for(lambda: StageRun.objects.get(pk=job.pk).heartbeat_at > broken_at)
        hold.check()


def test_work_finishes_what_it_claimed():
    row = stage_row()

    def do(job, hold):
        hold.report(done=1, total=2, words="tagging chunk 1 of 2")
        with write_guard(hold):
            StageBatch.objects.create(stage_run=job, ordinal=0, payload={"n": 1})

    assert work(StageRun, row.pk, do) == "succeeded"
    row.refresh_from_db()
    assert (row.state, row.progress, row.lease_expires_at) == (
        "succeeded",
        {"done": 1, "total": 2, "words": "tagging chunk 1 of 2"},
        None,
    )
    assert row.finished_at >= row.started_at
    assert work(StageRun, row.pk, do) is None
    assert StageBatch.objects.count() == 1


def test_work_queues_a_failed_attempt_again_and_fails_after_the_last(caplog):
    row = stage_row(max_attempts=2)

    def do(job, hold):
        raise ValueError("Mrs. Canary was found down")

    assert work(StageRun, row.pk, do) == "queued"
    assert work(StageRun, row.pk, do) is None  # still in its backoff
    StageRun.objects.filter(pk=row.pk).update(not_before=None)
    assert work(StageRun, row.pk, do) == "failed"
    row.refresh_from_db()
    assert row.reasons == ["attempt 1: ValueError", "attempt 2: ValueError"]
    assert all("Canary" not in record.getMessage() for record in caplog.records)


def test_work_does_not_try_again_what_cannot_pass():
    row = stage_row()

    def do(job, hold):
        raise PermanentFailure("the note is empty")

    assert work(StageRun, row.pk, do) == "failed"
    row.refresh_from_db()
    assert (row.attempt, row.reasons) == (1, ["attempt 1: PermanentFailure: the note is empty"])


def test_a_provider_that_cannot_be_built_fails_at_once_with_its_sentence_and_no_trace(caplog):
    row = stage_row()

    def do(job, hold):
        raise ProviderError("the provider 'openai' needs the package openai: pip install openai")

    assert work(StageRun, row.pk, do) == "failed"
    row.refresh_from_db()
    sentence = "ProviderError: the provider 'openai' needs the package openai: pip install openai"
    assert (row.attempt, row.reasons) == (1, [f"attempt 1: {sentence}"])
    (record,) = [record for record in caplog.records if sentence in record.getMessage()]
    assert record.exc_info is None


def test_work_that_lost_its_lease_ends_quietly_and_changes_nothing():
    row = stage_row()

    def do(job, hold):
        expire_lease(job)
        assert claim(StageRun, job.pk, worker="the other") is not None

    assert work(StageRun, row.pk, do) is None
    row.refresh_from_db()
    assert (row.state, row.worker, row.fence) == ("running", "the other", 2)


def test_work_obeys_a_cancellation_that_arrives_with_a_write(django_user_model):
    admin = django_user_model.objects.create(username="admin")
    row = stage_row()

    def do(job, hold):
        cancel_all(jobs=StageRun.objects.filter(pk=job.pk), by=admin, study=None)
        with write_guard(hold):
            StageBatch.objects.create(stage_run=job, ordinal=0, payload={})
        hold.check()
        pytest.fail("the check must stop the work")

    assert work(StageRun, row.pk, do) == "cancelled"
    assert StageBatch.objects.count() == 1  # what was finished before the stop remains


HOLDER = """
import sys, time
from datetime import timedelta
import django
django.setup()
from jobs.worker import work
from llm_runtime.base import ProviderError
from jobs.leases.hold import write_guard
from timelines.models import StageBatch, StageRun

def do(job, hold):
    with write_guard(hold):
        StageBatch.objects.create(stage_run=job, ordinal=0, payload={})
    print("holding", flush=True)
    time.sleep(600)

work(StageRun, int(sys.argv[1]), do, lease=timedelta(minutes=10))
"""


def test_a_killed_workers_job_is_taken_over_after_its_lease_and_keeps_what_was_stored(
    process_environment,
):
    row = stage_row()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(row.pk)],
        env=process_environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        assert claim(StageRun, row.pk) is None
        os.kill(holder.pid, signal.SIGKILL)
    finally:
        holder.kill()
        holder.wait()
    assert claim(StageRun, row.pk) is None  # the lease has not expired
    expire_lease(row)

    def resume(job, hold):
        assert job.attempt == 2
        assert StageBatch.objects.filter(stage_run=job).count() == 1

    assert work(StageRun, row.pk, resume) == "succeeded"
