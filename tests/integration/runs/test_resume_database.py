"""kill -9 of PostgreSQL between two stages.

The run continues in the same process once the server is back, with identical results.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from config.env import BASE_DIR
from config.services import embedded
from config.services.processes import find_processes, wait_until
from tests.paths import DEMO

pytestmark = pytest.mark.slow

#: Works on a run until a stage of that name is done, says so, and continues on command.
WALK = """
import sys
import django
django.setup()
from django.db import close_old_connections
from llm_runtime.roles import ModelRoles
from timelines.runs import tools
roles = ModelRoles({"embedder": {"provider": "hashing"}, "reranker": {"provider": "lexical"}})
tools.roles = lambda: roles
from ehr.models import Dataset
from timelines.runs.actions import start_run
from timelines.models import StageRun
from timelines.runs.stages.execution import execute_stage

run = start_run(dataset=Dataset.objects.get(), backbone="rules", by=None)
for stage in StageRun.objects.filter(case_run__run=run).order_by("pk"):
    state = execute_stage(stage.pk)
    if stage.stage == sys.argv[1]:
        print("between", flush=True)
        sys.stdin.readline()
        close_old_connections()  # as Celery does between two tasks
print(run.public_id, state, flush=True)
"""


@pytest.fixture
def environment(private_services) -> dict[str, str]:
    """An installation of its own with the introductory case."""
    found = {
        **os.environ,
        "OCCURRENT_VAR": str(private_services.var),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    embedded.ensure_running(private_services)
    manage(found, "migrate", "--verbosity", "0")
    manage(
        found,
        "import_dataset",
        "--format",
        "cases",
        "--path",
        str(DEMO / "intro"),
        "--name",
        "intro",
    )
    return found


def manage(environment: dict[str, str], *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE_DIR,
        env=environment,
        check=True,
        capture_output=True,
    )


def walk(environment: dict[str, str], stage: str) -> subprocess.Popen[str]:
    """The walking process, which has just done that stage."""
    command = [sys.executable, "-c", WALK, stage]
    process = subprocess.Popen(
        command,
        cwd=BASE_DIR,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "between\n"
    return process


def finish(process: subprocess.Popen[str]) -> str:
    """Let it go on; returns the run's public id."""
    said, _ = process.communicate("go on\n", timeout=120)
    run, state = said.split()
    assert state == "succeeded"
    return run


def exported(environment: dict[str, str], run: str, out: Path) -> list[dict]:
    manage(
        environment,
        "export_timelines",
        "--dataset",
        "intro",
        "--format",
        "jsonl",
        "--run",
        run,
        "--out",
        str(out),
    )
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


@pytest.mark.deep
def test_a_killed_database_between_two_stages_changes_nothing(
    environment, private_services, tmp_path
):
    undisturbed = finish(walk(environment, "infer"))
    process = walk(environment, "infer")
    try:
        for server in find_processes(private_services.postgres_data):
            # without the first of them the others end by themselves
            with suppress(ProcessLookupError):
                os.kill(server.pid, signal.SIGKILL)
        assert wait_until(lambda: not find_processes(private_services.postgres_data), seconds=60)
        assert embedded.ensure_running(private_services) == ["postgres"]
        disturbed = finish(process)
    finally:
        process.kill()
    lines = exported(environment, disturbed, tmp_path / "disturbed.jsonl")
    assert disturbed != undisturbed
    assert {line["kind"] for line in lines} == {"text_only", "revised"}
    assert lines == exported(environment, undisturbed, tmp_path / "undisturbed.jsonl")
