"""Any order of actions on a run brings every stage to an end.

Workers and people act. Following the run returns, and Retry covers each case.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

import pytest
from django.db import connection
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from accounts.models import User
from ehr.models import Encounter
from jobs.actions import cancel_all, end_abandoned_jobs, fail, finish, requeue
from jobs.errors import LostLease
from jobs.leases.claims import claim, claimable_condition
from jobs.leases.hold import Hold, write_guard
from jobs.leases.holding import make_hold
from jobs.models import JobState
from jobs.states import FINAL
from tests.support.beside import BackgroundAct
from tests.worlds.job_rows import expire_lease, stage_row, stage_rows
from timelines.case_state import CaseState
from timelines.models import CaseRun, Run, StageRun
from timelines.runs.actions import cancel_run, pause_run, resume_run, retry_failed
from timelines.runs.following import follow
from timelines.runs.progress import count_run
from timelines.runs.stages.execution import release_next

STAGES, CASES = 3, 2


class World:
    """A run of two cases with three stages each, and workers' leases."""

    def __init__(self, by: User) -> None:
        self.by = by
        rows = stage_rows(STAGES, state="blocked", max_attempts=2)
        self.run: Run = rows[0].case_run.run
        other = Encounter.objects.create(
            dataset=self.run.dataset,
            case_id="other",
            subject_key="2",
            admitted_at=datetime(2150, 1, 1),
            discharged_at=None,
        )
        second = CaseRun.objects.create(run=self.run, encounter=other)
        rows += [
            StageRun.objects.create(
                case_run=second, stage=row.stage, state="blocked", max_attempts=2
            )
            for row in rows
        ]
        self.keys = [row.pk for row in rows]
        self.stages.filter(pk__in=self.keys[::STAGES]).update(state="queued")
        self.claims: dict[int, Hold] = {}
        #: Workers that lost their lease and do not know it yet.
        self.late: list[Hold] = []

    @property
    def stages(self):
        return StageRun.objects.filter(case_run__run=self.run)

    def claim(self, key: int) -> None:
        self.stages.filter(pk=key).update(not_before=None)
        run = Run.objects.get(pk=self.run.pk)
        if run.paused_at is None and (job := claim(StageRun, key)) is not None:
            if key in self.claims:
                self.late.append(self.claims.pop(key))
            self.claims[key] = make_hold(job)

    def work(self, key: int, end: Callable[[Hold], object]) -> None:
        """End the stage's claim; late workers must not succeed."""
        if (hold := self.claims.pop(key, None)) is not None:
            end(hold)
        for late in self.late:
            with pytest.raises(LostLease):
                end(late)

    def finish(self, key: int) -> None:
        row = StageRun.objects.get(pk=key)
        self.work(key, lambda hold: finish(hold=hold, then=lambda: release_next(row)))

    def lose(self, key: int) -> None:
        """The worker is killed, or cut off until its lease has run out."""
        if key in self.claims:
            hold = self.claims.pop(key)
            expire_lease(StageRun.objects.get(pk=key))
            self.late.append(hold)

    def happen(self, event: str, key: int) -> None:
        acts: dict[str, Callable[[], object]] = {
            "claim": lambda: self.claim(key),
            "finish": lambda: self.finish(key),
            "requeue": lambda: self.work(key, lambda hold: requeue(hold=hold)),
            "fail": lambda: self.work(key, lambda hold: fail(hold=hold, reasons=["stumbled"])),
            "fail for good": lambda: self.work(
                key, lambda hold: fail(hold=hold, reasons=["never"], retryable=False)
            ),
            "outage": lambda: self.work(
                key, lambda hold: fail(hold=hold, reasons=["away"], outage=True)
            ),
            "lose": lambda: self.lose(key),
            "sweep": lambda: end_abandoned_jobs(jobs=self.stages),
            "cancel": lambda: cancel_run(run=self.run, by=self.by),
            "pause": lambda: pause_run(run=self.run, by=self.by),
            "resume": lambda: resume_run(run=self.run, by=self.by),
            "retry": lambda: retry_failed(run=self.run, by=self.by),
        }
        acts[event]()

    def drain(self) -> None:
        """Let workers finish their claimed stages, then the waiting ones."""
        self.happen("resume", 0)
        for _ in range(10 * len(self.keys)):
            for key in list(self.claims):
                self.finish(key)
            end_abandoned_jobs(jobs=self.stages)
            self.stages.update(not_before=None)
            for key in self.stages.filter(claimable_condition()).values_list("pk", flat=True):
                self.claim(key)
            if not self.claims:
                return
        raise AssertionError("the work has no end")


ENDINGS = ["requeue", "fail", "fail for good", "outage", "lose"]
EVENTS = ["claim"] * 4 + ["finish"] * 3 + ENDINGS + ["sweep", "cancel", "pause", "resume", "retry"]
orders = st.lists(
    st.tuples(st.sampled_from(EVENTS), st.integers(0, STAGES * CASES - 1)), max_size=40
)


def check_order(happened: list[tuple[str, int]], by: User) -> None:
    """Play the events; check that nothing waits for ever.

    A person can have the rest done.
    """
    world = World(by)
    for event, index in happened:
        world.happen(event, world.keys[index])
    world.drain()
    states = set(world.stages.values_list("state", flat=True))
    assert states <= {*FINAL, JobState.BLOCKED}
    assert not count_run(world.run).active
    follow(world.run, lambda words: None)
    undone = [
        case
        for case, state in world.run.cases.values_list("pk", "state")
        if state != CaseState.DONE
    ]
    assert retry_failed(run=world.run, by=by) == len(undone)
    world.drain()
    assert set(world.stages.values_list("state", flat=True)) == {JobState.SUCCEEDED}


@pytest.mark.django_db
@examples(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(happened=orders)
def test_every_order_of_events_ends(happened, django_user_model):
    check_order(happened, django_user_model.objects.get_or_create(username="admin")[0])


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.django_db
@examples(
    max_examples=1000,
    derandomize=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(happened=orders)
def test_every_order_of_events_ends_however_many_are_tried(happened, django_user_model):
    check_order(happened, django_user_model.objects.get_or_create(username="admin")[0])


ENDS: dict[str, Callable[[Hold, StageRun], object]] = {
    "requeue": lambda hold, row: requeue(hold=hold),
    "fail": lambda hold, row: fail(hold=hold, reasons=["stumbled"]),
    "outage": lambda hold, row: fail(hold=hold, reasons=["away"], outage=True),
    "finish": lambda hold, row: finish(hold=hold, then=lambda: release_next(row)),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("statement", [1, 2, 3])
@pytest.mark.parametrize("end", ENDS)
def test_a_stage_that_goes_back_to_the_queue_while_its_run_is_cancelled_is_cancelled_too(
    end, statement, django_user_model
):
    """The worker acts between any two statements of the cancellation.

    It has its own connection.
    """
    admin = django_user_model.objects.create(username="admin")
    row, later = stage_rows(2, state="blocked")
    StageRun.objects.filter(pk=row.pk).update(state="queued")
    hold = make_hold(claim(StageRun, row.pk))
    beside: list[BackgroundAct] = []
    seen = 0

    def between(execute, sql, params, many, context):
        nonlocal seen
        result = execute(sql, params, many, context)
        if "timelines_stagerun" in sql:
            seen += 1
            if seen == statement:
                beside.append(BackgroundAct(lambda: ENDS[end](hold, row)).settle())
        return result

    with connection.execute_wrapper(between):
        cancel_all(jobs=StageRun.objects.filter(case_run=row.case_run), by=admin, study=None)
    assert beside, "the cancellation has fewer statements"
    with suppress(LostLease):  # it came too late to go back
        beside[0].answer()
    states = dict(StageRun.objects.values_list("pk", "state"))
    assert states[row.pk] in FINAL
    assert states[later.pk] == "cancelled"
    assert claim(StageRun, row.pk) is None


@pytest.mark.django_db
def test_a_batch_stored_before_the_hand_on_does_not_hide_the_cancellation(django_user_model):
    """The cancellation comes between a stage's last write and its hand-on.

    The heartbeat has not noticed it yet.
    """
    admin = django_user_model.objects.create(username="admin")
    row = stage_row()
    hold = make_hold(claim(StageRun, row.pk))
    with write_guard(hold):
        pass
    cancel_all(jobs=StageRun.objects.all(), by=admin, study=None)
    assert requeue(hold=hold) is JobState.CANCELLED
    row.refresh_from_db()
    assert (row.state, row.finished_at is not None) == ("cancelled", True)
