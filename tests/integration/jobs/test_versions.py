"""Workers of two releases work on the same queue.

A job of a form that a worker does not know waits for a newer worker, unharmed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from celery import current_app
from django.apps import apps
from django.db import connection

import jobs.models
from jobs import registry
from jobs.leases.claims import claim
from jobs.models import ClaimableJob, JobState
from jobs.tasks import sweep
from jobs.worker import work
from tests.worlds.job_rows import expire_lease, stage_row, stage_rows
from timelines.models import StageRun

#: What a job shows of being worked on.
TOUCHED = ("state", "attempt", "fence", "worker", "reasons", "outages", "started_at", "finished_at")


def snapshot(row: StageRun) -> dict[str, object]:
    return StageRun.objects.values(*TOUCHED).get(pk=row.pk)


@pytest.mark.django_db(transaction=True)
def test_a_job_of_a_later_form_waits_unharmed_until_a_newer_worker_comes(monkeypatch):
    row = stage_row(contents=jobs.models.CONTENTS + 1)
    before = snapshot(row)
    for _ in range(5):
        assert work(StageRun, row.pk, lambda job, hold: pytest.fail("it was worked on")) is None
    sweep()
    assert snapshot(row) == before
    assert before["state"] == JobState.QUEUED

    monkeypatch.setattr(jobs.models, "CONTENTS", jobs.models.CONTENTS + 1)
    assert work(StageRun, row.pk, lambda job, hold: None) == JobState.SUCCEEDED


@pytest.mark.django_db
def test_a_job_that_a_newer_worker_began_is_not_continued_by_an_older_one(monkeypatch):
    row = stage_row()
    monkeypatch.setattr(jobs.models, "CONTENTS", 2)
    job = claim(StageRun, row.pk)
    assert job is not None
    assert job.contents == 2
    expire_lease(job)
    monkeypatch.setattr(jobs.models, "CONTENTS", 1)
    assert claim(StageRun, row.pk) is None
    monkeypatch.setattr(jobs.models, "CONTENTS", 2)
    assert claim(StageRun, row.pk) is not None


@pytest.mark.django_db
def test_a_newer_worker_does_jobs_of_earlier_forms(monkeypatch):
    row = stage_row()
    monkeypatch.setattr(jobs.models, "CONTENTS", 7)
    assert claim(StageRun, row.pk) is not None


@pytest.mark.django_db
def test_code_that_does_not_know_the_column_makes_jobs_of_the_first_form():
    row = stage_row()
    with connection.cursor() as cursor:
        columns = [
            f'"{f.column}"'
            for f in StageRun._meta.concrete_fields
            if f.column not in ("id", "contents", "stage")
        ]
        names = ", ".join(columns)
        cursor.execute(
            f"INSERT INTO timelines_stagerun (stage, {names}) SELECT 'uids', {names}"
            " FROM timelines_stagerun WHERE id = %s RETURNING contents",
            [row.pk],
        )
        assert cursor.fetchone() == (1,)


def test_every_job_has_a_form_and_a_kind_that_gives_hints():
    classes = [model for model in apps.get_models() if issubclass(model, ClaimableJob)]
    assert len(classes) > 15
    assert {kind.job_class for kind in registry.kinds()} == set(classes)
    for model in classes:
        field = model._meta.get_field("contents")
        assert (field.has_db_default(), field.default()) == (True, jobs.models.CONTENTS)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_real_worker_drops_messages_of_unknown_kinds_and_works_on(process_environment):
    """A message of another release names a task that this worker lacks."""
    known, later = stage_rows(2)
    StageRun.objects.filter(pk=later.pk).update(contents=jobs.models.CONTENTS + 1)
    before = snapshot(later)
    with current_app.connection_or_acquire():
        current_app.send_task("timelines.tasks.of_a_later_release", (later.pk,), queue="pipeline")
    options = ["--queues", "pipeline", "--pool", "solo", "--without-gossip", "--without-mingle"]
    command = [sys.executable, "-m", "celery", "--app", "config", "worker", *options]
    worker = subprocess.Popen(
        [*command, "--loglevel", "WARNING"], env=process_environment, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        # Any outcome but "queued": the case of this row has no text to work on.
        while snapshot(known)["attempt"] == 0:
            assert worker.poll() is None, "the worker ended"
            assert time.monotonic() < deadline, "waited in vain"
            sweep()
            time.sleep(0.5)
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    assert snapshot(later) == before
