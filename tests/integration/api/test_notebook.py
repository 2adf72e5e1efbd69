"""The client's notebook runs against a server, with a worker beside it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from django.db import connections
from nbclient import NotebookClient

from accounts.api_access.tokens import issue_token
from accounts.models import Role
from jobs.models import JobState
from tests import factories, paths
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder
from timelines.evaluations.actions import execute_evaluation
from timelines.models import Evaluation, Run
from timelines.runs.following import work_inline

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CLIENT = paths.ROOT / "client"


@pytest.fixture
def worker() -> Iterator[None]:
    """Do the work of every run and evaluation that is started."""
    stop = threading.Event()

    def work() -> None:
        done: set[int] = set()
        while not stop.wait(0.2):
            for run in Run.objects.exclude(pk__in=done):
                work_inline(run, lambda words: None)
                done.add(run.pk)
            for evaluation in Evaluation.objects.filter(state=JobState.QUEUED):
                execute_evaluation(evaluation.pk)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.usefixtures("worker")
def test_the_notebook_runs(live_server: Any, settings: Any, monkeypatch: Any) -> None:
    settings.MODEL_ROLES = LIGHT_ROLES
    dataset = import_folder(paths.DEMO / "intro", name="demo")
    _, token = issue_token(
        user=factories.make_user(dataset.study, Role.ADMIN), label="notebook", by=None
    )
    for name, value in {
        "OCCURRENT": live_server.url,
        "TOKEN": token,
        "PYTHONPATH": os.pathsep.join([str(CLIENT), os.environ.get("PYTHONPATH", "")]),
    }.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(CLIENT / "example.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is stored without outputs"
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = {
        output["data"]["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    }
    assert "{'done': 1}" in shown
    assert Run.objects.get().label == "notebook"
    assert Evaluation.objects.get().state == JobState.SUCCEEDED
