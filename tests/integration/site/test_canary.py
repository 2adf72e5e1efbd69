"""No log has patient text.

A case full of canaries is imported, reconstructed, opened, exported, made to fail; every log is
read.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import IntegrityError, connection
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from config.env import BASE_DIR
from config.services.paths import ServicePaths
from ehr.models import Dataset, Encounter, EventSeries
from jobs.tasks import sweep
from tests import factories
from tests.integration.runs.test_resume import celery_worker, kill, wait_for
from tests.support.logs import collect_log
from timelines.cases.exporting.formats import FORMATS
from timelines.domain import TaggedSpan
from timelines.models import Occurrence, Run, StageRun
from timelines.runs import tools
from timelines.runs.actions import start_run
from timelines.runs.stages.execution import execute_stage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CANARY = "zyxcanary"
EXPORTED = ("jsonl", "csv", "parquet", "meds", "brat", "prov")
#: Exports the cohort in these formats. One process: its start takes longer than the exports.
EXPORT = """
from django.core.management import call_command
for format in {}:
    out = "{}/timelines." + format
    call_command("export_timelines", "--dataset=canaries", "--format", format, "--out", out)
"""
NOTE = f"""HISTORY OF PRESENT ILLNESS

Mr. {CANARY}man is a 61 year old man with {CANARY}itis who came with fever three days before admission. He was given {CANARY}mycin.

HOSPITAL COURSE

On hospital day 2 the {CANARY} culture grew {CANARY}coccus and lactate was 4.1. He was discharged to {CANARY}ville.
"""
ROWS = [
    (
        "2150-01-01T10:00:00",
        f"lab:{CANARY}:blood",
        f"{CANARY} positive",
        f"{CANARY}/L",
        CANARY,
        "collection",
    ),
    (
        "2150-01-01T11:00:00",
        f"med:{CANARY}mycin:start",
        "500",
        "mg",
        "inputevents",
        "administration",
    ),
    (f"not a time {CANARY}", f"lab:{CANARY}:urine", CANARY, "", "labevents", "collection"),
]
REFERENCE = [
    {
        "start": 0,
        "end": 7,
        "mention": f"{CANARY} history",
        "time": 0,
        "lower": 0,
        "upper": 0,
        "known": 1,
        "rows": [0],
        "why": CANARY,
    },
    {
        "start": 0,
        "end": 99999,
        "mention": f"{CANARY} history",
        "time": 0,
        "lower": 0,
        "upper": 0,
        "known": 1,
        "rows": [0],
        "why": CANARY,
    },
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write one case with canaries in every text.

    Note, event names, values, units and sources, title and reference have them.
    """
    case = tmp_path / "cases" / "one"
    case.mkdir(parents=True)
    (case / "note.txt").write_text(NOTE, encoding="utf-8")
    encounter = {
        "case_id": "one",
        "admitted_at": "2150-01-01T09:00:00",
        "discharged_at": "2150-01-05T09:00:00",
        "title": CANARY,
    }
    (case / "encounter.json").write_text(json.dumps(encounter), encoding="utf-8")
    rows = io.StringIO()
    csv.writer(rows).writerows([("t", "event", "value", "unit", "source", "time_kind"), *ROWS])
    (case / "rows.csv").write_text(rows.getvalue(), encoding="utf-8")
    (case / "reference.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in REFERENCE), encoding="utf-8"
    )
    return tmp_path / "cases"


@pytest.fixture
def log(tmp_path: Path):
    """Collect this process's log at the most verbose level.

    The format is that of every process of an installation.
    """
    with collect_log(tmp_path / "this-process.log") as path:
        yield path


def run_command(environment: dict[str, str], log: Path, *arguments: str) -> int:
    """Run a command in its own process; its standard error goes to a log."""
    with log.open("a") as file:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=BASE_DIR,
            env=environment,
            stdout=file,
            stderr=file,
            check=False,
        )
    return done.returncode


def test_no_log_holds_a_word_of_note_or_record(
    folder, log, tmp_path, process_environment, services, monkeypatch
):
    output = tmp_path / "commands.log"
    environment = {**process_environment, "LOG_LEVEL": "DEBUG"}
    study = factories.make_study("canaries")
    arguments = (
        "--format",
        "cases",
        "--path",
        str(folder),
        "--name",
        "canaries",
        "--study",
        "canaries",
    )
    assert run_command(environment, output, "import_dataset", *arguments) == 1, (
        "the faulty row and reference line are reported"
    )
    dataset = Dataset.objects.get(study=study)
    run = reconstruct_by_worker(dataset, environment, tmp_path / "worker.log")
    assert Occurrence.objects.filter(inventory__run=run, mention__contains=CANARY).exists()
    assert EventSeries.objects.filter(event__contains=CANARY).exists()
    open_every_page(dataset, run)
    exports = tmp_path / "exports"
    assert (
        run_command(
            environment, output, "shell", "--no-imports", "-c", EXPORT.format(EXPORTED, exports)
        )
        == 0
    )
    written = {path.name for path in exports.iterdir() if not path.name.endswith(".schema.json")}
    assert written == {f"timelines.{name}" for name in EXPORTED}
    fail_quoting_note(dataset, monkeypatch)
    logging.getLogger("thirdparty").error("failed on %s", NOTE)
    logs = [log, output, tmp_path / "worker.log", *find_logs(services)]
    assert "timelines" in log.read_text(encoding="utf-8"), "this process did log"
    assert (tmp_path / "worker.log").stat().st_size, "the worker did log"
    assert len(logs) >= 4, "the servers did log"
    assert [
        path.name
        for path in logs
        if CANARY in path.read_text(encoding="utf-8", errors="replace").lower()
    ] == []


def reconstruct_by_worker(dataset: Dataset, environment: dict[str, str], log: Path) -> Run:
    """A whole run by a real worker at the most talkative level."""
    run = start_run(dataset=dataset, backbone="rules", label=CANARY, by=None)
    with log.open("w") as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            worker = celery_worker(environment)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
    try:
        wait_for(
            worker,
            lambda: (
                sweep()
                or StageRun.objects.filter(case_run__run=run, state="succeeded").count() == 7
            ),
        )
    finally:
        kill(worker)
    return run


def open_every_page(dataset: Dataset, run: Run) -> None:
    """Open every page as clinician and admin.

    A search has the canary, and some addresses do not exist.
    """
    user = factories.make_user(dataset.study, Role.CLINICIAN, Role.ADMIN)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    case = Encounter.objects.get(dataset=dataset)
    uid4 = Occurrence.objects.filter(inventory__run=run).values_list("uid4", flat=True)[0]
    pages = [
        reverse("timelines:cases"),
        reverse("timelines:case", args=[case.public_id]),
        reverse("timelines:runs"),
    ]
    pages += [
        reverse("timelines:occurrence", args=[case.public_id, uid4]),
        reverse("timelines:chain", args=[case.public_id, uid4]),
        *(reverse("timelines:case_export", args=[case.public_id, f]) for f in FORMATS),
    ]
    pages += [
        reverse("timelines:run", args=[run.public_id]),
        reverse("ehr:record", args=[case.public_id]),
    ]
    answers = [client.get(page) for page in pages]
    assert [a.status_code for a in answers] == [200] * len(pages)
    assert CANARY in answers[1].content.decode()
    assert client.post(pages[0], {"text": CANARY}).status_code == 200
    assert client.get(f"/{CANARY}/?q={CANARY}").status_code == 404


def fail_quoting_note(dataset: Dataset, monkeypatch) -> None:
    """Fail with an exception that quotes the note and a refusal of a row."""

    class Quoting:
        def tag(self, note: str, kind: str = "") -> list[TaggedSpan]:
            raise ValueError(note)

    used = tools.backbone("rules")
    monkeypatch.setattr(tools, "backbone", lambda name, *_: replace(used, tagger=Quoting()))
    run = start_run(dataset=dataset, backbone="rules", by=None)
    stage = StageRun.objects.get(case_run__run=run, stage="tag")
    execute_stage(stage.pk)
    stage.refresh_from_db()
    assert stage.reasons == ["attempt 1: ValueError"]
    event = EventSeries.objects.filter(event__contains=CANARY)[0]
    try:
        EventSeries.objects.create(
            encounter=event.encounter,
            event=event.event,
            summary=CANARY,
            row_indices=[0],
            count=1,
            priority=1,
        )
    except IntegrityError:
        logging.getLogger("timelines.test").exception("refused: %s", event)
    connection.close()


def find_logs(services: ServicePaths) -> list[Path]:
    """Every log file of the session's servers."""
    return [path for path in services.logs.rglob("*") if path.is_file()]
