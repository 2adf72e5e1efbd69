"""kill -9 of a worker in each stage, before and after storing.

Another worker continues; nothing is lost, repeated or different.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ehr.models import Dataset
from jobs.models import JobState
from jobs.tasks import sweep
from llm_runtime.roles import ModelRoles
from tests.paths import DEMO
from tests.worlds.job_rows import expire_lease
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder, run_inline
from timelines.models import Candidate, Entry, Evidence, Query, Run, Stage, StageBatch, StageRun
from timelines.pipeline.config import PipelineConfig
from timelines.runs import tools
from timelines.runs.actions import start_run
from timelines.runs.stages.execution import execute_stage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

STAGES = list(Stage)

#: Executes one stage and hangs before or after it stores its last batch.
DOOMED = f"""
import sys, time
import django
django.setup()
from llm_runtime.roles import ModelRoles
from timelines.runs import tools
from timelines.runs.stages import execution

stage_run_id, moment, last = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
roles = ModelRoles({LIGHT_ROLES!r})
tools.roles = lambda: roles
store = execution.StageWork.store

def hang():
    print("hanging", flush=True)
    time.sleep(300)

def doomed(self, ordinal, *arguments):
    if (moment, ordinal) == ("before", last):
        hang()
    store(self, ordinal, *arguments)
    if (moment, ordinal) == ("after", last):
        hang()

execution.StageWork.store = doomed
execution.execute_stage(stage_run_id)
print("ended", flush=True)
"""


@pytest.fixture
def dataset(monkeypatch) -> Dataset:
    """The introductory case; searches by the embedder that needs no weights."""
    roles = ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    return import_folder(DEMO / "intro")


def die(stage: StageRun, moment: str, last: int, environment: dict[str, str]) -> None:
    """Execute the stage in a worker process, kill it, and expire its lease."""
    command = [sys.executable, "-c", DOOMED, str(stage.pk), moment, str(last)]
    worker = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "hanging\n"
        os.kill(worker.pid, signal.SIGKILL)
    finally:
        worker.kill()
        worker.wait()
    expire_lease(stage)


def stored(stage: StageRun) -> list[tuple[int, object]]:
    """(ordinal, moment of storing) of each stored batch."""
    return list(
        StageBatch.objects.filter(stage_run=stage)
        .order_by("ordinal")
        .values_list("ordinal", "created_at")
    )


def entries(run: Run) -> list[tuple]:
    """Every entry of the run's timelines, without primary keys."""
    columns = ("time", "lower", "upper", "known", "context", "decided_by", "reason", "adopted_rows")
    order = (
        "timeline__kind",
        "timeline__alternative",
        "occurrence__ordinal",
        "occurrence__uid4",
        "occurrence__mention",
    )
    return list(
        Entry.objects.filter(timeline__case_run__run=run)
        .order_by(*order)
        .values_list(*order, *columns)
    )


def counts(run: Run) -> tuple[int, int, int, int]:
    """How many entries, queries, candidates and evidence rows the run has."""
    mine = {"query__case_run__run": run}
    return (
        len(entries(run)),
        Query.objects.filter(case_run__run=run).count(),
        Candidate.objects.filter(**mine).count(),
        Evidence.objects.filter(case_run__run=run).count(),
    )


@pytest.mark.deep
def test_a_worker_killed_in_each_stage_loses_nothing_and_repeats_nothing(
    dataset, process_environment
):
    config = PipelineConfig(query_batch_size=25)
    undisturbed = run_inline(dataset, config=config)
    batches = StageBatch.objects.filter(
        stage_run__case_run__run=undisturbed, stage_run__stage=Stage.RETRIEVE
    ).count()
    assert batches >= 3, "the searches of this case are more than one batch"
    run = start_run(dataset=dataset, backbone="rules", config=config, by=None)
    for name in STAGES:
        stage = StageRun.objects.get(case_run__run=run, stage=name)
        last = batches - 1 if name == Stage.RETRIEVE else 0
        die(stage, "before", last, process_environment)
        earlier = stored(stage)
        assert [ordinal for ordinal, _ in earlier] == list(range(last)), (
            "batches before the fatal one are kept"
        )
        die(stage, "after", last, process_environment)
        whole = stored(stage)
        assert whole[:last] == earlier, "and were not computed again"
        assert len(whole) == last + 1
        assert execute_stage(stage.pk) == JobState.SUCCEEDED
        assert stored(stage) == whole, "the third worker found everything stored"
        stage.refresh_from_db()
        assert stage.reasons == [
            "attempt 1: the worker stopped answering",
            "attempt 2: the worker stopped answering",
        ]
    assert not StageRun.objects.filter(case_run__run=run).exclude(state=JobState.SUCCEEDED).exists()
    assert entries(run) == entries(undisturbed) != []
    assert counts(run) == counts(undisturbed)


@pytest.mark.deep
def test_a_celery_worker_killed_at_work_is_replaced_by_another(dataset, process_environment):
    undisturbed = run_inline(dataset)
    environment = {**process_environment, "MODEL_ROLES": json.dumps(LIGHT_ROLES)}
    run = start_run(dataset=dataset, backbone="rules", by=None)
    first = celery_worker(environment)
    try:
        wait_for(
            first,
            lambda: StageRun.objects.filter(case_run__run=run, state=JobState.RUNNING).exists(),
        )
    finally:
        kill(first)
    for stage in StageRun.objects.filter(case_run__run=run, state=JobState.RUNNING):
        expire_lease(stage)
    second = celery_worker(environment)
    try:
        wait_for(
            second,
            lambda: (
                swept()
                and StageRun.objects.filter(case_run__run=run, state=JobState.SUCCEEDED).count()
                == len(STAGES)
            ),
        )
    finally:
        kill(second)
    assert entries(run) == entries(undisturbed)


def celery_worker(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A real worker on every queue, in a process group of its own."""
    queues = "ingest,pipeline,generate,embed,judge"
    options = [
        "--queues",
        queues,
        "--pool",
        "solo",
        "--without-gossip",
        "--without-mingle",
        "--loglevel",
        "WARNING",
    ]
    command = [sys.executable, "-m", "celery", "--app", "config", "worker", *options]
    return subprocess.Popen(command, env=environment, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def swept() -> bool:
    """What beat does every few seconds."""
    sweep()
    return True


def wait_for(worker: subprocess.Popen[bytes], condition, seconds: float = 600) -> None:
    """Wait until `condition()`; fail after `seconds`.

    It also fails as soon as the worker has ended.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert worker.poll() is None, "the worker ended"
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.5)
