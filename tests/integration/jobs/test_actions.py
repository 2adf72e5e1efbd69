"""Cancel, retry, release, and the sweeper that repeats hints."""

from datetime import timedelta

import pytest

from accounts.models import AuditEvent
from jobs import hints, registry
from jobs.actions import (
    LONGEST_BACKOFF,
    MOST_OUTAGES,
    cancel,
    cancel_all,
    fail,
    finish,
    release,
    retry,
    retry_all,
    wake,
)
from jobs.leases.claims import claim
from jobs.leases.clock import database_time
from jobs.leases.holding import make_hold
from jobs.models import JobState
from jobs.states import InvalidTransition
from jobs.tasks import sweep
from tests.worlds.job_rows import expire_lease, stage_row, stage_rows
from timelines.models import StageRun

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(django_user_model):
    return django_user_model.objects.create(username="admin")


@pytest.fixture
def sent(monkeypatch, django_capture_on_commit_callbacks):
    """Sweeps and gives the ids that hints were sent for."""
    ids: list[int] = []
    monkeypatch.setattr(registry, "_kinds", {})
    registry.register(StageRun, ids.extend)

    def run() -> list[int]:
        ids.clear()
        with django_capture_on_commit_callbacks(execute=True):
            sweep()
        return sorted(ids)

    return run


def read_state(row):
    return StageRun.objects.get(pk=row.pk).state


def test_release_queues_the_blocked_alone():
    blocked, queued = stage_rows(2, state="blocked")
    assert release(jobs=StageRun.objects.filter(pk=queued.pk)) == 1
    assert release(jobs=StageRun.objects.filter(pk=queued.pk)) == 0
    assert (read_state(blocked), read_state(queued)) == ("blocked", "queued")


def test_cancelling_a_waiting_job_ends_it_and_a_running_one_is_asked(admin):
    waiting, running, done = stage_rows(3)
    hold = make_hold(claim(StageRun, running.pk))
    finish(hold=make_hold(claim(StageRun, done.pk)))
    cancel(job=waiting, by=admin, study=None)
    cancel(job=running, by=admin, study=None)
    assert read_state(waiting) == "cancelled"
    running.refresh_from_db()
    assert (running.state, running.cancel_requested) == ("running", True)
    assert claim(StageRun, waiting.pk) is None
    assert fail(hold=hold, reasons=["stumbled"]) == "failed"  # asked to stop: no further attempt
    with pytest.raises(InvalidTransition):
        cancel(job=done, by=admin, study=None)
    assert AuditEvent.objects.filter(action="job.cancel", actor=admin).count() == 2


def test_retry_gives_all_attempts_again_and_keeps_the_reasons(admin):
    row = stage_row(max_attempts=1)
    assert fail(hold=make_hold(claim(StageRun, row.pk)), reasons=["no worker memory"]) == "failed"
    row.refresh_from_db()
    retry(job=row, by=admin, study=None)
    assert (row.state, row.attempt, row.reasons) == ("queued", 0, ["attempt 1: no worker memory"])
    again = claim(StageRun, row.pk)
    assert (again.attempt, again.fence) == (1, 2)
    with pytest.raises(InvalidTransition):
        retry(job=again, by=admin, study=None)


def test_retrying_a_chain_blocks_the_later_steps(admin):
    first, second = stage_rows(2)
    jobs = StageRun.objects.all()
    assert cancel_all(jobs=jobs, by=admin, study=None) == 2
    assert retry_all(jobs=jobs.filter(pk=first.pk), by=admin, study=None) == 1
    assert retry_all(jobs=jobs.filter(pk=second.pk), by=admin, study=None, waits=True) == 1
    assert (read_state(first), read_state(second)) == ("queued", "blocked")


def test_bulk_actions_that_touch_nothing_are_not_audited(admin):
    finish(hold=make_hold(claim(StageRun, stage_row().pk)))
    assert cancel_all(jobs=StageRun.objects.all(), by=admin, study=None) == 0
    assert retry_all(jobs=StageRun.objects.all(), by=admin, study=None) == 0
    assert not AuditEvent.objects.exists()


def test_a_failed_attempt_waits_out_its_backoff_on_database_time():
    row = stage_row()
    assert fail(hold=make_hold(claim(StageRun, row.pk)), reasons=["timeout"]) == "queued"
    window = StageRun.objects.filter(
        not_before__gt=database_time(timedelta(seconds=4)),
        not_before__lte=database_time(timedelta(seconds=5)),
    )
    assert window.filter(pk=row.pk).exists()


def test_the_sweeper_tells_of_rows_nobody_was_told_of_and_then_leaves_them_alone(sent):
    row = stage_row()
    assert sent() == [row.pk]
    assert sent() == []


def test_the_sweeper_tells_again_when_a_hint_went_unheard(sent):
    row = stage_row()
    StageRun.objects.filter(pk=row.pk).update(hinted_at=database_time(-hints.RESEND_AFTER))
    assert sent() == [row.pk]


def test_the_sweeper_tells_of_expired_leases_at_once(sent):
    row = stage_row()
    assert sent() == [row.pk]
    job = claim(StageRun, row.pk)
    assert sent() == []
    StageRun.objects.filter(pk=row.pk).update(hinted_at=database_time(timedelta(minutes=-1)))
    expire_lease(job)
    assert sent() == [row.pk]
    assert sent() == []


def test_the_sweeper_waits_for_backoff_and_passes_over_what_is_blocked_or_ended(sent):
    late = stage_row()
    StageRun.objects.filter(pk=late.pk).update(not_before=database_time(timedelta(minutes=1)))
    stage_row(state="blocked")
    stage_row(state="failed")
    assert sent() == []


def test_the_sweeper_ends_what_nobody_may_reclaim(sent, admin):
    worn_out, stopped = stage_row(max_attempts=1), stage_row()
    for row in (worn_out, stopped):
        expire_lease(claim(StageRun, row.pk))
    cancel_all(jobs=StageRun.objects.filter(pk=stopped.pk), by=admin, study=None)
    assert sent() == []
    worn_out.refresh_from_db()
    assert (worn_out.state, worn_out.reasons) == (
        "failed",
        ["the worker stopped answering in the last attempt"],
    )
    assert read_state(stopped) == "cancelled"


def test_the_sweeper_sends_no_more_than_its_limit(sent, monkeypatch):
    monkeypatch.setattr(hints, "SWEEP_LIMIT", 3)
    rows = stage_rows(5)
    first, second = sent(), sent()
    assert len(first) == 3
    assert sorted(first + second) == sorted(row.pk for row in rows)


def test_a_kind_says_which_of_its_rows_may_run(sent):
    paused, open_row = stage_row(), stage_row()
    registry.register(
        StageRun,
        registry.find_kind(StageRun).send,
        runnable=lambda jobs: jobs.exclude(pk=paused.pk),
    )
    assert sent() == [open_row.pk]


def test_an_unregistered_kind_is_named_with_the_fix(monkeypatch):
    monkeypatch.setattr(registry, "_kinds", {})
    with pytest.raises(LookupError, match=r"jobs\.registry\.register"):
        registry.find_kind(StageRun)


def test_a_service_that_is_away_delays_a_job_and_uses_up_no_attempt():
    row = stage_row(max_attempts=1)
    for outage in range(1, 4):
        StageRun.objects.filter(pk=row.pk).update(not_before=None)
        hold = make_hold(claim(StageRun, row.pk))
        assert (
            fail(hold=hold, reasons=["Unavailable: the server is away"], outage=True)
            == JobState.QUEUED
        )
        row.refresh_from_db()
        assert (row.attempt, row.outages) == (0, outage)
        assert row.not_before > row.queued_at
        assert row.reasons == ["attempt 1: Unavailable: the server is away"]


def test_an_outage_without_end_fails_the_job():
    row = stage_row(max_attempts=1, outages=MOST_OUTAGES)
    assert (
        fail(hold=make_hold(claim(StageRun, row.pk)), reasons=["away"], outage=True)
        == JobState.FAILED
    )


def test_a_job_that_waits_for_a_person_waits_however_long_and_is_woken():
    row = stage_row(max_attempts=1, outages=MOST_OUTAGES)
    hold = make_hold(claim(StageRun, row.pk))
    assert (
        fail(hold=hold, reasons=["Pending: no answer yet"], outage=True, patient=True)
        == JobState.QUEUED
    )
    row.refresh_from_db()
    assert (row.attempt, row.outages) == (0, MOST_OUTAGES)
    assert row.not_before - row.queued_at == LONGEST_BACKOFF
    assert claim(StageRun, row.pk) is None
    assert wake(jobs=StageRun.objects.filter(pk=row.pk)) == 1
    assert wake(jobs=StageRun.objects.filter(pk=row.pk)) == 0
    assert claim(StageRun, row.pk) is not None
