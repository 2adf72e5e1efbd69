"""A stage ends within its limit with a sentence, in any kind of work.

It obeys a cancellation within seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psutil
import pytest
from django.conf import settings

from accounts.models import Role
from config.services.processes import wait_until
from jobs.leases import heartbeat
from jobs.leases.hold import Hold, TimeLimit
from jobs.limits import HARD_SECONDS
from jobs.models import JobState
from jobs.worker import work
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.demo_cases import COHORT
from tests.integration.jobs.test_stopping import is_working, supervised, worker_child  # noqa: F401 - a fixture
from tests.support.beside import BackgroundAct
from tests.worlds.job_rows import stage_row
from tests.worlds.reconstructed import LIGHT_ROLES
from timelines.models import Run, StageRun
from timelines.runs import tools
from timelines.runs.actions import cancel_run, retry_failed, start_run
from timelines.runs.progress import count_run
from timelines.runs.stages.execution import execute_stage
from timelines.tasks import run_stage, send_stage_hints

pytestmark = pytest.mark.django_db(transaction=True)

#: As many characters as the note that once was in `tag` after three minutes.
LONG = 1_200_000


def make_run(characters: int) -> Run:
    """Return a run over one case whose note has that length.

    The note repeats those of the demo cohort.
    """
    whole = "\n\n".join(
        path.read_text(encoding="utf-8") for path in sorted(COHORT.glob("*/note.txt"))
    )
    dataset = factories.make_dataset()
    factories.make_note(
        factories.make_encounter(dataset), (whole * (characters // len(whole) + 1))[:characters]
    )
    return start_run(dataset=dataset, backbone="rules", by=None)


@pytest.fixture(autouse=True)
def roles(monkeypatch) -> None:
    found = ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: found)


def read_state(run: Run, stage: str = "tag") -> str:
    return StageRun.objects.get(case_run__run=run, stage=stage).state


def test_a_stage_past_its_limit_fails_with_a_sentence_at_once_and_can_be_retried(settings):
    settings.STAGE_SECONDS = 0.01
    run = make_run(30_000)
    admin = factories.make_user(run.study, Role.ADMIN)
    stage = StageRun.objects.get(case_run__run=run, stage="tag")
    assert execute_stage(stage.pk) == JobState.FAILED
    stage.refresh_from_db()
    sentence = "it took longer than 0.01 s. Raise STAGE_SECONDS and retry, or leave the case out"
    assert (stage.attempt, stage.reasons) == (1, [f"attempt 1: OutOfTime: {sentence}"])
    assert not count_run(run).active
    settings.STAGE_SECONDS = 1800
    assert retry_failed(run=run, by=admin) == 1
    assert execute_stage(stage.pk) == JobState.SUCCEEDED


def test_cancelling_ends_the_tagging_of_a_very_long_note_within_seconds():
    warm = make_run(200)
    assert (
        execute_stage(StageRun.objects.get(case_run__run=warm, stage="tag").pk)
        == JobState.SUCCEEDED
    )
    run = make_run(LONG)
    admin = factories.make_user(run.study, Role.ADMIN)
    tagging = BackgroundAct(
        lambda: execute_stage(StageRun.objects.get(case_run__run=run, stage="tag").pk)
    )
    assert wait_until(lambda: read_state(run) == JobState.RUNNING, seconds=60)
    began = time.monotonic()
    cancel_run(run=run, by=admin)
    assert tagging.answer() == JobState.CANCELLED
    assert time.monotonic() - began < 30, (
        "two seconds to notice and one step of the work; the whole takes minutes here"
    )


def test_work_that_never_looks_is_failed_beside_it_and_stores_nothing_more(monkeypatch):
    monkeypatch.setattr(heartbeat, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(heartbeat, "LOOK_SECONDS", 0.05)
    row, done, refused = stage_row(), threading.Event(), []

    def deaf(job: StageRun, hold: Hold) -> None:
        assert done.wait(60)
        refused.append(hold.lost.wait(60))
        hold.report(done=1, total=1, words="too late")

    working = BackgroundAct(
        lambda: work(StageRun, row.pk, deaf, limit=lambda job: TimeLimit(0.2, "STAGE_SECONDS"))
    )
    assert wait_until(lambda: StageRun.objects.get(pk=row.pk).state == JobState.FAILED, seconds=60)
    done.set()
    assert working.answer() is None
    row.refresh_from_db()
    sentence = "it took longer than 0.2 s. Raise STAGE_SECONDS and retry, or leave the case out"
    assert (row.state, row.reasons, row.progress) == (
        "failed",
        [f"attempt 1: OutOfTime: {sentence}"],
        {},
    )
    assert refused == [True]


@pytest.mark.parametrize(
    ("backbone", "setting"), [("rules", "STAGE_SECONDS"), ("prompted", "MODEL_STAGE_SECONDS")]
)
def test_messages_carry_the_hard_limit_of_their_kind(monkeypatch, backbone, setting):
    sent: list[float] = []
    monkeypatch.setattr(
        run_stage, "apply_async", lambda arguments, **options: sent.append(options["time_limit"])
    )
    row = stage_row()
    Run.objects.filter(cases__stages=row).update(backbone=backbone)
    send_stage_hints([row.pk])
    assert sent == [getattr(settings, setting) + HARD_SECONDS]


@pytest.mark.deep
@pytest.mark.slow
def test_a_worker_process_that_hangs_is_replaced_and_its_stage_has_failed_with_the_sentence(
    supervised,  # noqa: F811
    process_environment,
):
    hanging, next_one = stage_row(), stage_row()
    supervised(worker_child("deaf", {**process_environment, "STAGE_SECONDS": "1"}))
    run_stage.apply_async((hanging.pk,), queue="pipeline", time_limit=25)
    assert wait_until(lambda: is_working(hanging), seconds=180)
    process = int(hanging.worker.split(":")[1])
    assert wait_until(
        lambda: StageRun.objects.get(pk=hanging.pk).state == JobState.FAILED, seconds=120
    )
    hanging.refresh_from_db()
    assert hanging.reasons == [
        "attempt 1: OutOfTime: it took longer than 1 s. Raise STAGE_SECONDS and retry, or leave the case out"
    ]
    assert wait_until(lambda: not psutil.pid_exists(process), seconds=120)
    run_stage.apply_async((next_one.pk,), queue="pipeline")
    assert wait_until(lambda: is_working(next_one), seconds=180)


@pytest.mark.parametrize(
    "hold", [Hold(StageRun, 1, 1, 1), Hold(StageRun, 1, 1, 1, TimeLimit(3600, "STAGE_SECONDS"))]
)
def test_a_check_costs_next_to_nothing(hold: Hold):
    """It is called for every sentence and occurrence."""
    check: Callable[[], None] = hold.check
    began = time.process_time()
    for _ in range(10_000):
        check()
    assert time.process_time() - began < 1
