"""Hints are bounded at the broker.

They expire, a full queue gets no more, and workers request more of their run.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from celery import current_app
from django.conf import settings

from jobs import hints
from jobs.health.broker import count_messages, open_broker
from jobs.leases.claims import claim
from jobs.leases.clock import database_time
from jobs.registry import find_kind
from jobs.tasks import sweep
from tests.support.broker import purge_queues
from tests.worlds.job_rows import expire_lease, stage_row, stage_rows
from timelines.models import StageRun
from timelines.tasks import find_waiting_stages

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty_queues():
    """The session's broker without messages, before and after."""
    purge_queues()
    yield
    purge_queues()


def test_sweeps_while_workers_are_away_leave_no_more_than_a_queue_takes(monkeypatch):
    monkeypatch.setattr(hints, "QUEUE_LIMIT", 12)
    stage_rows(7)
    stage_rows(7)
    for _ in range(20):
        sweep()
        StageRun.objects.update(hinted_at=database_time(-hints.RESEND_AFTER - timedelta(seconds=1)))
    assert {q: hints.count_messages(q) for q in ("pipeline", "embed")} == {
        "pipeline": 12,
        "embed": 12,
    }


def test_a_message_expires_when_it_would_be_repeated():
    (row,) = stage_rows(1)
    find_kind(StageRun).send([row.pk])
    with current_app.connection_for_write() as broker, broker.channel() as channel:
        message = channel.basic_get("pipeline", no_ack=True)
    assert message.headers["expires"] is not None
    assert json.loads(message.body)[0] == [row.pk]


def test_work_of_a_dead_worker_does_not_wait_behind_a_large_run():
    waiting, dead = stage_rows(3), stage_row()
    hints.send_hints(StageRun, [row.pk for row in waiting])
    claim(StageRun, dead.pk)
    expire_lease(dead)
    assert hints.resend_hints(find_kind(StageRun)) == 1
    assert [_take("pipeline") for _ in range(2)] == [dead.pk, waiting[0].pk]
    hints.send_hints(StageRun, [dead.pk])
    assert _take("pipeline") == waiting[1].pk, "later hints of that process wait their turn"


def test_the_schedule_comes_before_hints():
    """Otherwise nothing is swept while a queue is long."""
    assert settings.CELERY_TASK_DEFAULT_PRIORITY == hints.USUAL
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["options"]["priority"] == hints.FIRST
    (row,) = stage_rows(1)
    hints.send_hints(StageRun, [row.pk])
    sweep.apply_async(**settings.CELERY_BEAT_SCHEDULE["sweep"]["options"])
    with open_broker() as broker:
        assert count_messages(broker)["pipeline"] == hints.count_messages("pipeline") == 2
    assert _take("pipeline") is None
    assert _take("pipeline") == row.pk


def _take(queue: str) -> int | None:
    """The id in the next message of the queue, None if it has none."""
    with current_app.connection_for_write() as broker, broker.channel() as channel:
        message = channel.basic_get(queue, no_ack=True)
    (ids, *_) = json.loads(message.body)
    return ids[0] if ids else None


def test_a_worker_pulls_hints_of_its_own_run_once_most_were_taken(monkeypatch):
    monkeypatch.setattr(hints, "SWEEP_LIMIT", 4)
    monkeypatch.setattr(hints, "_next_pull", {})
    other, mine = stage_rows(3), stage_rows(7)
    hints.send_hints(StageRun, [row.pk for row in mine])
    assert _find_hinted() == {row.pk for row in mine[:4]}, "no more than the limit at once"
    hints.pull_hints(StageRun, mine[0].pk)
    assert _find_hinted() == {row.pk for row in mine[:4]}, "enough are under way"
    StageRun.objects.filter(pk__in=[row.pk for row in mine[:3]]).update(state="succeeded")
    hints.pull_hints(StageRun, mine[0].pk)
    assert _find_hinted() == {mine[3].pk}, "not twice a second"
    monkeypatch.setattr(hints, "_next_pull", {})
    hints.pull_hints(StageRun, mine[0].pk)
    assert _find_hinted() == {row.pk for row in mine[3:]}
    assert not StageRun.objects.filter(
        pk__in=[row.pk for row in other], hinted_at__isnull=False
    ).exists()
    assert find_waiting_stages(other[0].pk).count() == 3


def test_rows_told_of_long_ago_are_not_starved_by_new_ones(monkeypatch):
    monkeypatch.setattr(hints, "SWEEP_LIMIT", 4)
    old, _ = stage_rows(2), stage_rows(7)
    long_ago = database_time(-hints.RESEND_AFTER - timedelta(seconds=1))
    StageRun.objects.filter(pk__in=[row.pk for row in old]).update(hinted_at=long_ago)
    assert hints.resend_hints(find_kind(StageRun)) == 4
    assert not StageRun.objects.filter(
        pk__in=[row.pk for row in old], hinted_at__lte=long_ago
    ).exists()


def _find_hinted() -> set[int]:
    return set(
        StageRun.objects.filter(state="queued", hinted_at__isnull=False).values_list(
            "pk", flat=True
        )
    )
