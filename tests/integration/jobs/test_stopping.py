"""Stopping a worker costs no attempt.

It gives its jobs back, or the process that had to kill it does. The processes are real.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection

from adjudication.models import Game
from config.env import BASE_DIR
from config.services import supervisor as supervisors
from config.services.paths import ServicePaths
from config.services.processes import is_alive, wait_until
from config.services.supervisor import Child, Supervisor
from config.services.worker import make_worker, run_worker
from jobs import registry
from jobs.actions import cancel_all, give_back
from jobs.leases.claims import claim
from jobs.management.commands import give_back_jobs
from jobs.models import JobState
from tests.marks import deep
from tests.worlds.job_rows import stage_row, stage_rows
from timelines.models import StageRun
from timelines.tasks import run_stage

QUEUES = "ingest,pipeline,generate,embed,judge"

#: A worker whose stages continue until a signal; "deaf" ones never look.
WORKER = """
import sys, time
import django
django.setup()
from timelines.runs.stages import execution

def go_on(stage_run, hold):
    hold.report(done=0, total=1, words="at work")
    until = time.monotonic() + 600
    while time.monotonic() < until:
        time.sleep(0.05)
        if sys.argv[1] != "deaf":
            hold.check()

execution._do = go_on
from config.celery import app
options = ["--queues", sys.argv[2], "--pool", sys.argv[3], "--concurrency", "2", "--without-gossip", "--without-mingle"]
app.worker_main(["worker", *options])
"""


def worker_child(kind: str, environment: dict[str, str], pool: str = "prefork") -> Child:
    command = [sys.executable, "-c", WORKER, kind, QUEUES, pool]
    after_kill = [sys.executable, str(BASE_DIR / "manage.py"), "give_back_jobs"]
    return Child("worker", command, environment, after_kill=after_kill)


@pytest.fixture
def supervised(
    tmp_path: Path, process_environment: dict[str, str], monkeypatch
) -> Iterator[Callable[[Child], Supervisor]]:
    """Return a function that starts a supervisor of one child.

    It uses the services of this session and leaves them running.
    """
    monkeypatch.setattr(supervisors.embedded, "ensure_environment", lambda paths: [])
    monkeypatch.setattr(supervisors.embedded, "stop", lambda paths, names: None)
    for name, value in process_environment.items():
        monkeypatch.setenv(name, value)
    made: list[Supervisor] = []

    def start(child: Child) -> Supervisor:
        supervisor = Supervisor(ServicePaths(tmp_path / "var"), say=said.append)
        supervisor.add(child)
        made.append(supervisor)
        return supervisor

    said: list[str] = []
    start.said = said  # type: ignore[attr-defined]
    yield start
    for supervisor in made:
        supervisor.stop()


def is_working(row: StageRun) -> bool:
    row.refresh_from_db()
    return row.state == JobState.RUNNING and row.progress.get("words") == "at work"


def members(child: Child) -> list[psutil.Process]:
    assert child.process is not None
    leader = psutil.Process(child.process.pid)
    return [leader, *leader.children(recursive=True)]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pool", ["prefork", *deep("threads")])
def test_a_stopped_worker_hands_back_what_it_does_without_the_attempt(
    supervised, process_environment, pool
):
    row, asked = stage_row(max_attempts=1), stage_row(max_attempts=1)
    child = worker_child("listens", process_environment, pool)
    supervisor = supervised(child)
    for job in (row, asked):
        run_stage.apply_async((job.pk,), queue="pipeline")
    assert wait_until(lambda: is_working(row) and is_working(asked), seconds=180)
    StageRun.objects.filter(pk=asked.pk).update(cancel_requested=True)
    everybody = members(child)
    began = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - began < supervisors.STOP_SECONDS, "it ended by itself"
    assert not any(map(is_alive, everybody))
    row.refresh_from_db()
    asked.refresh_from_db()
    assert (row.state, row.attempt, row.reasons, row.worker) == ("queued", 0, [], "")
    assert asked.state == "cancelled"
    assert claim(StageRun, row.pk).attempt == 1


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_three_stops_do_not_fail_a_long_stage_even_where_the_worker_must_be_killed(
    supervised, process_environment, monkeypatch
):
    """A stage that never checks is killed, and the attempt does not count."""
    monkeypatch.setattr(supervisors, "STOP_SECONDS", 2.0)
    row = stage_row(max_attempts=1)
    for _ in range(3):
        child = worker_child("deaf", process_environment)
        supervisor = supervised(child)
        run_stage.apply_async((row.pk,), queue="pipeline")
        assert wait_until(lambda: is_working(row), seconds=180)
        everybody = members(child)
        supervisor.stop()
        assert not any(map(is_alive, everybody))
        row.refresh_from_db()
        assert (row.state, row.attempt, row.reasons) == ("queued", 0, [])
    assert supervised.said.count("1 job given back") == 3


def ignores_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (mask,) = re.findall(r"^SigIgn:\s+(\w+)$", status, re.MULTILINE)
    return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)


#: The entry of a container, with the worker above in place of Celery's own.
ENTRY = """
import sys
from config.services import supervisor, worker
supervisor.STOP_SECONDS = 2.0
child = worker.make_worker([])
child.command = [sys.executable, "-c", *sys.argv[1:]]
worker.end_on_sigterm()
sys.exit(worker.run_worker(child))
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pool", ["threads", *deep("prefork", "solo")])
def test_a_stopped_container_gives_back_what_its_worker_cannot(process_environment, pool):
    """A long model call costs no attempt, and a second signal does nothing."""
    row = stage_row(max_attempts=1)
    entry = subprocess.Popen(
        [sys.executable, "-c", ENTRY, WORKER, "deaf", QUEUES, pool],
        env=process_environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        run_stage.apply_async((row.pk,), queue="pipeline")
        assert wait_until(lambda: is_working(row), seconds=180)
        everybody = psutil.Process(entry.pid).children(recursive=True)
        entry.send_signal(signal.SIGTERM)
        assert wait_until(lambda: ignores_sigterm(entry.pid), seconds=30)
        entry.send_signal(signal.SIGTERM)
        said, _ = entry.communicate(timeout=90)
    finally:
        if entry.poll() is None:
            for process in [*psutil.Process(entry.pid).children(recursive=True), entry]:
                process.kill()
    assert entry.returncode == 0
    assert "1 job given back" in said
    assert not any(map(is_alive, everybody))
    row.refresh_from_db()
    assert (row.state, row.attempt, row.reasons) == ("queued", 0, [])


def test_a_container_runs_celerys_worker_and_ends_with_its_status():
    child = make_worker(["--queues", "ingest"])
    assert child.command[1:] == ["-m", "celery", "--app", "config", "worker", "--queues", "ingest"]
    assert child.after_kill[1:] == [str(BASE_DIR / "manage.py"), "give_back_jobs"]
    for code, status in (("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)):
        assert run_worker(Child("worker", [sys.executable, "-c", code])) == status


@pytest.mark.slow
def test_the_signal_reaches_the_leader_first_and_the_rest_only_after_the_deadline(
    tmp_path, monkeypatch
):
    """A leader that needs its helper to end well has it until then."""
    monkeypatch.setattr(supervisors, "STOP_SECONDS", 20.0)
    helper = "import time; time.sleep(600)"
    script = f"""
import signal, subprocess, sys, time
helper = subprocess.Popen([sys.executable, "-c", {helper!r}])
def end(*args):
    time.sleep(0.5)
    print("helper", helper.poll(), flush=True)
    helper.kill()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
signal.pause()
"""
    child = Child("leader", [sys.executable, "-c", script])
    supervisor = Supervisor(ServicePaths(tmp_path / "var"), say=lambda words: None)
    monkeypatch.setattr(supervisors.embedded, "stop", lambda paths, names: None)
    supervisor.add(child)
    log = supervisor.logs / "leader.log"
    assert wait_until(lambda: "ready" in log.read_text(), seconds=60)
    supervisor.stop()
    assert "helper None" in log.read_text(), "it was still running when the leader was asked to end"


@pytest.mark.django_db
def test_only_the_jobs_of_these_processes_are_given_back(django_user_model):
    admin = django_user_model.objects.create(username="admin")
    mine, longer, other, asked = stage_rows(4)
    machine = socket.gethostname()
    for row, pid in ((mine, 17), (longer, 171), (other, 18), (asked, 17)):
        claim(StageRun, row.pk, worker=f"{machine}:{pid}:{pid}")
    cancel_all(jobs=StageRun.objects.filter(pk=asked.pk), by=admin, study=None)
    assert give_back(jobs=StageRun.objects.all(), workers=[f"{machine}:17"]) == 2
    found = dict(StageRun.objects.values_list("pk", "state"))
    assert [found[row.pk] for row in (mine, longer, other, asked)] == [
        "queued",
        "running",
        "running",
        "cancelled",
    ]
    assert StageRun.objects.get(pk=mine.pk).attempt == 0
    assert give_back(jobs=StageRun.objects.all(), workers=[]) == 0


@pytest.mark.django_db(transaction=True)
def test_a_cancel_waits_until_the_jobs_are_given_back(django_user_model):
    """A cancel between the updates waits for their transaction."""
    admin = django_user_model.objects.create(username="admin")
    row = stage_row()
    claim(StageRun, row.pk, worker=f"{socket.gethostname()}:17:17")
    cancelled: list[int] = []

    def cancel() -> None:
        try:
            cancelled.append(
                cancel_all(jobs=StageRun.objects.filter(pk=row.pk), by=admin, study=None)
            )
        finally:
            connection.close()

    canceller = threading.Thread(target=cancel)

    def cancel_after_the_first_update(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if sql.startswith("UPDATE") and not canceller.ident:
            canceller.start()
            canceller.join(1.0)  # without the lock it is done by now
        return result

    with connection.execute_wrapper(cancel_after_the_first_update):
        assert give_back(jobs=StageRun.objects.all(), workers=[f"{socket.gethostname()}:17"]) == 1
    canceller.join(60)
    row.refresh_from_db()
    assert (cancelled, row.state, row.attempt) == ([1], "cancelled", 0)


@pytest.mark.django_db(transaction=True)
def test_an_error_in_one_kind_of_job_does_not_stop_the_others(monkeypatch, capsys):
    row = stage_row()
    claim(StageRun, row.pk, worker=f"{socket.gethostname()}:17:17")

    def fail_for_the_first(*, jobs, workers):
        if jobs.model is first:
            raise IntegrityError("refused")
        return give_back(jobs=jobs, workers=workers)

    first = Game
    kinds = sorted(registry.kinds(), key=lambda kind: kind.job_class is not first)
    monkeypatch.setattr(give_back_jobs.registry, "kinds", lambda: iter(kinds))
    monkeypatch.setattr(give_back_jobs, "give_back", fail_for_the_first)
    with pytest.raises(CommandError, match=r"adjudication\.Game\. Run the command"):
        call_command("give_back_jobs", "17")
    row.refresh_from_db()
    assert (row.state, row.attempt) == ("queued", 0)
    assert "1 job given back" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_ctrl_c_gives_the_stage_of_an_inline_run_back(process_environment):
    row = stage_row(max_attempts=1)
    script = (
        "import sys, django; django.setup(); from timelines.runs.stages import execution\n" + INLINE
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(row.pk)],
        env=process_environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) != 0
    row.refresh_from_db()
    assert (row.state, row.attempt, row.reasons) == ("queued", 0, [])


INLINE = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
def go_on(stage_run, hold):
    print("at work", flush=True)
    time.sleep(600)
execution._do = go_on
execution.execute_stage(int(sys.argv[1]))
"""
