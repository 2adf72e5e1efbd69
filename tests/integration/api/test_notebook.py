"""The client's notebook runs against a server, with a worker beside it."""

from __future__ import annotations

import os
import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from django.db import connections
from nbclient import NotebookClient

from accounts.api_access.tokens import issue_token
from accounts.models import Role
from ehr.models import ImportJob
from ehr.uploads.execution import execute_import
from jobs.models import JobState
from tests import factories, paths
from tests.worlds.fhir_exports import make_stay, write_bulk
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder
from timelines.evaluations.actions import execute_evaluation
from timelines.exports.writing import execute_export
from timelines.models import Evaluation, Export, Run
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
            for job in ImportJob.objects.filter(state=JobState.QUEUED):
                execute_import(job.pk)
            for run in Run.objects.exclude(pk__in=done):
                work_inline(run, lambda words: None)
                done.add(run.pk)
            for evaluation in Evaluation.objects.filter(state=JobState.QUEUED):
                execute_evaluation(evaluation.pk)
            for export in Export.objects.filter(state=JobState.QUEUED):
                execute_export(export.pk)
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


@pytest.mark.usefixtures("worker")
def test_three_calls_from_a_folder_of_fhir_to_a_case(
    live_server: Any, settings: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    settings.MODEL_ROLES = LIGHT_ROLES
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.syspath_prepend(str(CLIENT))
    from occurrent_client import Occurrent  # the package is not installed

    write_bulk(tmp_path / "bulk", make_stay())
    admin = factories.make_user(factories.make_study("fhir"), Role.ADMIN)
    _, token = issue_token(user=admin, label="client", by=None)
    oc = Occurrent(live_server.url, token=token)
    brought = oc.imports.upload(tmp_path / "bulk").wait(timeout=60, poll=0.2)
    imported = brought.start(name="fhir").wait(timeout=60, poll=0.2)
    run = oc.runs.launch(dataset="fhir").wait(timeout=60, poll=0.2)
    assert (imported.facts["format"], imported.facts["job"]["counts"]["imported"]) == ("fhir", 1)
    assert [*oc.timelines.stream(run)]
    saved = oc.exports.start(run=run).wait(timeout=60, poll=0.2).save(tmp_path / "timelines.zip")
    assert zipfile.ZipFile(saved).testzip() is None
