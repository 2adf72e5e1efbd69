"""The drill: during a run, the database is killed and its data lost.

The last backup is restored, the run continues to its end, and the chain is whole. `test_restore.py`
has the shorter drill of `make test`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from config.env import BASE_DIR
from config.services import embedded
from config.services.paths import ServicePaths
from config.services.processes import wait_until
from tests.paths import DEMO
from tests.worlds.backed_up import destroy_database, start_quickly
from tests.worlds.database_roles import manage
from tests.worlds.reconstructed import LIGHT_ROLES

pytestmark = [pytest.mark.slow, pytest.mark.deep]

ROLES = {"MODEL_ROLES": json.dumps(LIGHT_ROLES)}
#: Stops in the middle of a run, as a worker at work does.
START = """
import sys
import django
django.setup()
from ehr.models import Dataset
from jobs.leases.claims import claim
from timelines.models import StageRun
from timelines.runs.actions import start_run
from timelines.runs.stages.execution import execute_stage

run = start_run(dataset=Dataset.objects.get(), backbone="rules", by=None)
first, second, *_ = StageRun.objects.filter(case_run__run=run).order_by("pk")
execute_stage(first.pk)
assert claim(StageRun, second.pk) is not None
print(run.public_id, flush=True)
sys.stdin.readline()
"""
UNFINISHED = """
SELECT count(*) FROM timelines_stagerun s JOIN timelines_caserun c ON c.id = s.case_run_id
JOIN timelines_run r ON r.id = c.run_id WHERE r.public_id = %s AND s.state <> 'succeeded'
"""


def expect(paths: ServicePaths, *arguments: str) -> str:
    """Run a command that succeeds; return its output."""
    result = manage(paths, *arguments, **ROLES)
    assert result.returncode == 0, result.stderr
    return result.stdout


def build_environment(paths: ServicePaths) -> dict[str, str]:
    """Return the environment of the installation's processes."""
    own = {"OCCURRENT_VAR": str(paths.var), "DJANGO_SETTINGS_MODULE": "config.settings"}
    return {**os.environ, **ROLES, **own, "SWEEP_SECONDS": "1"}


def finish_run(paths: ServicePaths, run: str) -> None:
    """Let a real worker with its scheduler work until the run is done."""
    options = ["--pool", "solo", "--beat", "--without-gossip", "--without-mingle"]
    queues = ["--queues", "ingest,pipeline,generate,embed,judge"]
    command = [sys.executable, "-m", "celery", "--app", "config", "worker", *options, *queues]
    worker = subprocess.Popen(
        command,
        cwd=paths.var,
        env={**build_environment(paths), "PYTHONPATH": str(BASE_DIR)},
        start_new_session=True,
    )
    try:
        with psycopg.connect(paths.database_url, autocommit=True) as connection:

            def is_done() -> bool:
                assert worker.poll() is None, "the worker ended"
                return connection.execute(UNFINISHED, [run]).fetchall() == [(0,)]

            assert wait_until(is_done, seconds=600)
    finally:
        os.killpg(worker.pid, signal.SIGKILL)  # its scheduler is a process of its own
        worker.wait()


def start_run(paths: ServicePaths) -> tuple[subprocess.Popen[str], str]:
    """A process that works on a run, and the run's public id."""
    process = subprocess.Popen(
        [sys.executable, "-c", START],
        cwd=BASE_DIR,
        env=build_environment(paths),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def export(paths: ServicePaths, run: str, out: Path) -> list[dict]:
    arguments = ["--dataset", "intro", "--format", "jsonl", "--run", run, "--out", str(out)]
    expect(paths, "export_timelines", *arguments)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_a_run_survives_the_loss_of_the_database(private_services, tmp_path):
    paths, key, backups = private_services, tmp_path / "key", tmp_path / "backups"
    start_quickly(paths)
    expect(paths, "migrate", "--verbosity", "0")
    demo = ["--format", "cases", "--path", str(DEMO / "intro"), "--name", "intro"]
    expect(paths, "import_dataset", *demo)
    public = expect(paths, "create_backup_key", "--to", str(key)).strip()
    worker, run = start_run(paths)
    try:
        expect(paths, "backup", "--to", str(backups), "--recipient", public)
        destroy_database(paths)
    finally:
        worker.kill()
        worker.communicate()

    assert embedded.ensure_running(paths) == ["postgres"]
    [backup] = backups.iterdir()
    restored = expect(paths, "restore", "--from", str(backup), "--identity", str(key))
    assert "1 interrupted job queued again" in restored
    finish_run(paths, run)
    verified = expect(paths, "verify_chain")
    assert "whole" in verified
    assert "BROKEN" not in verified
    assert {line["kind"] for line in export(paths, run, tmp_path / "run.jsonl")} == {
        "text_only",
        "revised",
    }
