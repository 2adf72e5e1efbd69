"""Claims: one conditional UPDATE, and exactly one worker wins.

Only the winner can write.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from jobs.actions import fail, finish
from jobs.errors import LostLease
from jobs.leases import claims
from jobs.leases.claims import claim
from jobs.leases.clock import database_time
from jobs.leases.hold import assert_fence, write_guard
from jobs.leases.holding import keep_lease, make_hold
from tests.support.beside import BackgroundAct, has_waiting_connection
from tests.worlds.job_rows import expire_lease, stage_row
from timelines.models import StageBatch, StageRun


@pytest.mark.django_db
def test_a_claim_takes_the_row_with_a_fresh_token_and_a_lease_on_database_time():
    row = stage_row()
    job = claim(StageRun, row.pk, worker="w1", lease=timedelta(seconds=90))
    assert job is not None
    assert (job.state, job.fence, job.attempt, job.worker) == ("running", row.fence + 1, 1, "w1")
    left = StageRun.objects.filter(
        pk=row.pk,
        lease_expires_at__gt=database_time(timedelta(seconds=85)),
        lease_expires_at__lte=database_time(timedelta(seconds=90)),
    )
    assert left.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["blocked", "succeeded", "failed", "cancelled"])
def test_what_is_not_queued_is_not_claimed(state):
    assert claim(StageRun, stage_row(state=state).pk) is None


@pytest.mark.django_db
def test_a_held_job_is_not_claimed_and_a_missing_one_is_no_error():
    row = stage_row()
    assert claim(StageRun, row.pk) is not None
    assert claim(StageRun, row.pk) is None
    assert claim(StageRun, 10**9) is None


@pytest.mark.django_db
def test_an_expired_lease_is_reclaimed_with_a_new_token_and_a_reason():
    first = claim(StageRun, stage_row().pk)
    expire_lease(first)
    second = claim(StageRun, first.pk, worker="w2")
    assert (second.fence, second.attempt, second.worker) == (first.fence + 1, 2, "w2")
    assert second.reasons == ["attempt 1: the worker stopped answering"]


@pytest.mark.django_db
def test_an_expired_lease_of_the_last_attempt_is_not_reclaimed():
    job = claim(StageRun, stage_row(max_attempts=1).pk)
    expire_lease(job)
    assert claim(StageRun, job.pk) is None


@pytest.mark.django_db
def test_a_row_in_backoff_is_not_claimed_before_its_time():
    row = stage_row()
    StageRun.objects.filter(pk=row.pk).update(not_before=database_time(timedelta(seconds=30)))
    assert claim(StageRun, row.pk) is None
    StageRun.objects.filter(pk=row.pk).update(not_before=database_time(timedelta(seconds=-1)))
    assert claim(StageRun, row.pk) is not None


@pytest.mark.django_db
def test_a_worker_that_lost_its_lease_cannot_write_finish_or_fail():
    lost = make_hold(claim(StageRun, stage_row().pk))
    row = StageRun.objects.get(pk=lost.job_id)
    expire_lease(row)
    winner = make_hold(claim(StageRun, lost.job_id))
    with pytest.raises(LostLease), write_guard(lost):
        StageBatch.objects.create(stage_run_id=lost.job_id, ordinal=0, payload={})
    with pytest.raises(LostLease):
        finish(hold=lost)
    with pytest.raises(LostLease):
        fail(hold=lost, reasons=["late"])
    with pytest.raises(LostLease):
        lost.report(done=1, total=2, words="late")
    assert lost.lost.is_set()
    assert not StageBatch.objects.exists()
    with write_guard(winner):
        StageBatch.objects.create(stage_run_id=winner.job_id, ordinal=0, payload={})
    finish(hold=winner)
    assert StageRun.objects.get(pk=winner.job_id).state == "succeeded"


@pytest.mark.django_db
def test_an_expired_lease_that_nobody_took_does_not_write_either():
    hold = make_hold(claim(StageRun, stage_row().pk))
    expire_lease(StageRun.objects.get(pk=hold.job_id))
    with pytest.raises(LostLease), write_guard(hold):
        pytest.fail("the block must not run")


@pytest.mark.django_db
def test_an_error_inside_the_guard_stores_nothing():
    hold = make_hold(claim(StageRun, stage_row().pk))

    def store_and_stumble():
        with write_guard(hold):
            StageBatch.objects.create(stage_run_id=hold.job_id, ordinal=0, payload={})
            raise OSError

    with pytest.raises(OSError):
        store_and_stumble()
    assert not StageBatch.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_guard_needs_a_transaction_and_the_heartbeat_needs_none():
    job = claim(StageRun, stage_row().pk)
    with pytest.raises(RuntimeError, match="inside a transaction"):
        assert_fence(make_hold(job))
    with (
        pytest.raises(RuntimeError, match="inside a transaction"),
        transaction.atomic(),
        keep_lease(job),
    ):
        pytest.fail("the block must not run")


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_racing_for_one_row_exactly_one_wins_every_time():
    workers, rounds = 4, 60
    rows = [stage_row() for _ in range(5)]
    barrier = threading.Barrier(workers)

    def race(worker: int) -> list[tuple[int, int]]:
        won = []
        try:
            for turn in range(rounds):
                row = rows[turn % len(rows)]
                barrier.wait(timeout=120)
                if (job := claim(StageRun, row.pk, worker=str(worker))) is not None:
                    won.append((turn, job.fence))
                barrier.wait(timeout=120)
                if worker == 0:
                    StageRun.objects.filter(pk=row.pk).update(
                        state="queued", attempt=0, lease_expires_at=None
                    )
                barrier.wait(timeout=120)
        finally:
            connection.close()
        return won

    with ThreadPoolExecutor(workers) as pool:
        wins = [win for result in pool.map(race, range(workers)) for win in result]
    assert sorted(turn for turn, _ in wins) == list(range(rounds))
    assert sorted(fence for _, fence in wins) == sorted(
        turn // len(rows) + 1 for turn in range(rounds)
    )


@pytest.mark.django_db(transaction=True)
def test_racing_reclaims_of_an_expired_lease_have_one_winner():
    workers, rounds = 4, 25
    row = stage_row(max_attempts=1000)
    assert claim(StageRun, row.pk) is not None
    barrier = threading.Barrier(workers)

    def race(worker: int) -> list[int]:
        won = []
        try:
            for _ in range(rounds):
                if worker == 0:
                    expire_lease(row)
                barrier.wait(timeout=120)
                if (job := claim(StageRun, row.pk)) is not None:
                    won.append(job.fence)
                barrier.wait(timeout=120)
        finally:
            connection.close()
        return won

    with ThreadPoolExecutor(workers) as pool:
        fences = [fence for result in pool.map(race, range(workers)) for fence in result]
    assert sorted(fences) == list(range(2, rounds + 2))


@pytest.mark.django_db(transaction=True)
def test_a_lease_that_ends_inside_the_guard_lets_the_write_pass_before_anyone_takes_over(
    monkeypatch,
):
    job = claim(StageRun, stage_row().pk)
    hold = make_hold(job)
    # The next claim is an hour later, after the end of the lease.
    monkeypatch.setattr(
        claims, "database_time", lambda delay=timedelta(): database_time(delay + timedelta(hours=1))
    )

    with write_guard(hold):
        other = BackgroundAct(lambda: claim(StageRun, job.pk)).settle()
        assert has_waiting_connection()
        StageBatch.objects.create(stage_run_id=job.pk, ordinal=0, payload={})
    assert other.answer().fence == hold.fence + 1
    assert StageBatch.objects.count() == 1
    with pytest.raises(LostLease):
        finish(hold=hold)
