"""A recipe over two cases goes on with another worker after kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from accounts.models import Role
from adjudication.models import JudgeRun, PlantedRecall, RecipeLaunch, RecipeStep
from adjudication.recipes.actions import launch_recipe, save_recipe
from adjudication.recipes.results import load_results
from adjudication.tasks import advance_recipes
from jobs import hints
from jobs.models import JobState
from jobs.tasks import sweep
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.paths import DEMO
from tests.worlds.job_rows import expire_lease
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder
from timelines.models import Evaluation, Run, StageRun
from timelines.runs import tools

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(600)]

CASES = ["20338077", "24104168"]
RECIPE = f"""\
name: two cases
cohorts: [cohort]
cases: {json.dumps(CASES)}
runs:
  - {{name: rules, backbone: rules, variants: [full, unimodal]}}
evaluations:
  - {{name: main, resamples: 20}}
judges:
  - {{name: gavel, runs: [rules], sources: [reference], text_only: true}}
planted:
  - {{name: recall, each: 1}}
packets:
  - name: packet
    judge: gavel
    label: First packet
    pairings: ["reference | *"]
    second: ["reference | rules · revised"]
"""
QUEUES = "ingest,pipeline,generate,embed,judge"


@contextmanager
def worker(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A real worker on every queue, killed without warning at the end."""
    options = ["--queues", QUEUES, "--pool", "solo", "--without-gossip", "--without-mingle"]
    command = [sys.executable, "-m", "celery", "--app", "config", "worker", *options]
    process = subprocess.Popen(
        [*command, "--loglevel", "WARNING"], env=environment, start_new_session=True
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    """Send what beat sends, until the condition is met."""
    deadline = time.monotonic() + 400
    while not condition():
        assert process.poll() is None, "the worker ended"
        assert time.monotonic() < deadline, "waited in vain"
        sweep()
        advance_recipes.apply_async(queue="pipeline", expires=10)
        time.sleep(1)


def test_a_study_goes_on_after_its_worker_is_killed(monkeypatch, process_environment):
    roles = ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    # Hints that the worker took with it are sent again by the sweep, sooner than usual.
    monkeypatch.setattr(hints, "RESEND_AFTER", timedelta(seconds=5))
    environment = {**process_environment, "MODEL_ROLES": json.dumps(LIGHT_ROLES)}
    dataset = import_folder(DEMO / "cohort", cases=CASES)
    admin = factories.make_user(dataset.study, Role.ADMIN)
    launch = launch_recipe(
        version=save_recipe(study=dataset.study, text=RECIPE, by=admin), by=admin
    )
    at_work = StageRun.objects.filter(state=JobState.RUNNING)
    with worker(environment) as first:
        wait_for(first, at_work.exists)
    assert launch.steps.filter(state=RecipeStep.State.DONE).count() < launch.steps.count()
    for stage in at_work:
        expire_lease(stage)

    def has_ended() -> bool:
        launch.refresh_from_db()
        return launch.state != RecipeLaunch.State.RUNNING

    with worker(environment) as second:
        wait_for(second, has_ended)
    reasons = dict(launch.steps.exclude(state="done").values_list("key", "reason"))
    assert (launch.state, reasons) == (RecipeLaunch.State.DONE, {})
    results = load_results(launch)
    assert {step.key for step in results.steps} == {
        *results.runs,
        *results.evaluations,
        *results.judge_runs,
        *results.planted,
        *results.packets,
    }
    made = [kind.objects.count() for kind in (Run, Evaluation, JudgeRun, PlantedRecall)]
    assert made == [2, 1, 1, 1], "nothing was made twice"
    packet = results.packets["packet packet"]
    quotas = dict(packet.items.values_list("pairing", "quota").distinct())
    assert quotas == {"reference | rules · revised": 2, "reference | rules · text-only": 1}
    games = results.judge_runs["judge gavel"].games
    assert games.filter(outcome="judged").count() == 3 * len(CASES)
