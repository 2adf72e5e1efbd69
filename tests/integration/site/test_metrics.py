"""The page for monitoring: who may read it, what it counts, and no text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
import yaml
from django.db import connection, transaction
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from accounts.models import Role
from config.backups.history import record_failed, record_made
from config.env import BASE_DIR
from config.metrics import collecting
from jobs.errors import LostLease, PermanentFailure
from jobs.health.broker import open_broker
from jobs.leases.clock import database_time
from jobs.metrics.counters import KEY
from jobs.tasks import sweep
from jobs.worker import work
from llm_runtime.base import ModelReply, ModelRequest
from llm_runtime.calls.calling import Call
from llm_runtime.ledger import DatabaseLedger
from tests import factories
from tests.paths import ROOT
from tests.worlds.job_rows import expire_lease, stage_row, stage_rows
from timelines.models import STAGE_ORDER, Run, StageBatch, StageRun

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "a-token-of-more-than-thirty-two-characters"
#: name → value of each sample, by its labels.
Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(autouse=True)
def counting(settings, services):
    """Count from zero."""
    settings.METRICS_TOKEN = TOKEN
    settings.FREE_DISK_BYTES = 0
    with open_broker() as broker:
        broker.delete(KEY)


def read(client: Client) -> str:
    response = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    return response.content.decode()


def read_figures(client: Client) -> Figures:
    families = text_string_to_metric_families(read(client))
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def find(figures: Figures, name: str, **labels: str) -> float | None:
    return figures.get((name, frozenset(labels.items())))


def test_without_a_token_of_ours_there_is_no_page(client, settings):
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 404
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize("given", ["", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer \xff"])
def test_another_token_reads_nothing(client, given):
    response = client.get("/metrics", headers={"authorization": given})
    assert (response.status_code, response.content) == (401, b"")


def test_the_page_is_read_by_address_and_all_parts_work(client, settings):
    settings.ALLOWED_HOSTS = ["occurrent.example.org"]
    settings.SECURE_SSL_REDIRECT = True
    figures = read_figures(client)
    parts = {name: find(figures, "occurrent_collected", part=name) for name in collecting.PARTS}
    assert set(parts.values()) == {1.0}, parts
    assert find(figures, "occurrent_ready", check="database") == 1
    assert find(figures, "occurrent_disk_free_bytes", place="files") > 0


def test_attempts_are_counted_by_how_they_end(client):
    stages = stage_rows(4)

    def fail_once(job: StageRun, hold: object) -> None:
        raise RuntimeError

    def fail_for_good(job: StageRun, hold: object) -> None:
        raise PermanentFailure

    def lose(job: StageRun, hold: object) -> None:
        raise LostLease

    work(StageRun, stages[0].pk, lambda job, hold: None)
    work(StageRun, stages[1].pk, fail_once)
    work(StageRun, stages[2].pk, fail_for_good)
    work(StageRun, stages[3].pk, lose)
    expire_lease(stages[3])
    work(StageRun, stages[3].pk, lambda job, hold: None)
    figures = read_figures(client)
    kind = {"kind": "StageRun"}
    assert find(figures, "occurrent_job_seconds_count", **kind, part="tag") == 1
    assert find(figures, "occurrent_job_seconds_count", **kind, part=stages[3].stage) == 1
    assert find(figures, "occurrent_attempts_failed_total", **kind, again="yes") == 1
    assert find(figures, "occurrent_attempts_failed_total", **kind, again="no") == 1
    assert find(figures, "occurrent_leases_lost_total", **kind, noticed="worker") == 1
    assert find(figures, "occurrent_leases_lost_total", **kind, noticed="next worker") == 1


def test_the_sweeper_counts_jobs_that_nobody_takes_over(client):
    stage = stage_row(state="running", attempt=3, lease_expires_at=database_time())
    expire_lease(stage)
    sweep()
    figures = read_figures(client)
    lost = find(figures, "occurrent_leases_lost_total", kind="StageRun", noticed="sweeper")
    assert lost == 1
    assert find(figures, "occurrent_sweep_age_seconds") < 60


def test_processes_add_up(client, process_environment):
    script = "from config.request_log import REQUESTS as r; r.add('home', '2xx', amount={})"
    for amount in (2, 5):
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c"]
        done = subprocess.run(
            [*command, script.format(amount)],
            cwd=BASE_DIR,
            env={**process_environment, "METRICS_TOKEN": TOKEN},
            check=False,
        )
        assert done.returncode == 0
    figures = read_figures(client)
    assert find(figures, "occurrent_requests_total", route="home", status="2xx") == 7


def test_requests_are_counted_by_the_name_of_the_route_alone(client):
    client.get("/sign-in/")
    client.get("/no/such/address-with-a-name/")
    page = read(client)
    assert 'occurrent_requests_total{route="accounts:sign_in",status="2xx"} 1.0' in page
    assert 'occurrent_requests_total{route="unknown",status="4xx"} 1.0' in page
    assert "address-with-a-name" not in page


def test_waiting_jobs_by_kind_queue_and_age(client):
    first, *_ = stage_rows(2)
    Run.objects.update(backbone="prompted")
    StageRun.objects.filter(pk=first.pk).update(queued_at=database_time(timedelta(minutes=-10)))
    StageRun.objects.filter(stage="uids").update(stage="retrieve")
    StageBatch.objects.create(
        stage_run=StageRun.objects.get(stage="retrieve"), ordinal=0, payload={}
    )
    paused = stage_row(queued_at=database_time(timedelta(days=-1)))
    Run.objects.filter(cases__stages=paused).update(paused_at=database_time())
    figures = read_figures(client)
    assert find(figures, "occurrent_jobs", kind="StageRun", state="queued") == 3
    oldest = find(figures, "occurrent_oldest_job_age_seconds", kind="StageRun")
    assert 600 <= oldest < 700, "a paused run's job does not wait for a worker"
    queues = {q: find(figures, "occurrent_queue_jobs", queue=q) for q in ("generate", "embed")}
    assert queues == {"generate": 1, "embed": 1}


def test_a_call_of_a_model_is_counted_once(client):
    request = ModelRequest(messages=(), max_tokens=5)
    reply = ModelReply(
        text="{}", finish_reason="stop", tokens_in=40, tokens_cached=30, tokens_out=7
    )
    values = {"role": "timer", "model": "glm@gpu1:8001", "prompt": "p", "prompt_sha256": "0" * 64}
    call = Call(
        **values, part="infer", request=request, request_sha256="1" * 64, attempt=1, reply=reply,
        reasons=(), seconds=3.0,
    )  # fmt: skip
    ledger = DatabaseLedger("test", "1")
    ledger._store(call, reused=False)
    ledger._store(call, reused=True)
    figures = read_figures(client)
    names = {"role": "timer", "model": "glm@gpu1:8001"}
    assert find(figures, "occurrent_model_calls_total", **names, outcome="accepted") == 1
    assert find(figures, "occurrent_model_call_seconds_sum", **names) == 3
    tokens = {
        way: find(figures, "occurrent_model_tokens_total", **names, direction=way)
        for way in ("in", "cached", "out")
    }
    assert tokens == {"in": 40, "cached": 30, "out": 7}


def test_the_backup_and_the_trail_have_an_age(client):
    assert find(read_figures(client), "occurrent_backup_age_seconds") is None
    record_made(name="one", by=None, detail={"bytes": 5})
    figures = read_figures(client)
    assert 0 <= find(figures, "occurrent_backup_age_seconds") < 60
    assert 0 <= find(figures, "occurrent_audit_head_age_seconds") < 60
    assert find(figures, "occurrent_backup_failed") == 0
    record_failed(name="two", by=None, reason="The disk is full.")
    assert find(read_figures(client), "occurrent_backup_failed") == 1


def test_a_part_that_fails_leaves_the_others(client, monkeypatch):
    def broken() -> Iterator[None]:
        raise OSError

    parts = {**collecting.PARTS, "broker": broken}
    monkeypatch.setattr(collecting, "PARTS", parts)
    figures = read_figures(client)
    assert find(figures, "occurrent_collected", part="broker") == 0
    assert find(figures, "occurrent_collected", part="jobs") == 1
    assert find(figures, "occurrent_jobs", kind="Game", state="queued") == 0


#: A run of so many cases: one stage of each is queued, half of them with a message.
CASES = 100_000
FILL = """
SET LOCAL session_replication_role = replica;
INSERT INTO timelines_caserun (public_id, run_id, encounter_id, rounds, state)
    SELECT 'case' || n, %(run)s, 1000 + n, 0, 'waiting' FROM generate_series(1, %(cases)s) n;
INSERT INTO timelines_stagerun (case_run_id, stage, state, attempt, max_attempts, outages, fence, worker, queued_at,
    hinted_at, cancel_requested, reasons, progress)
    SELECT c.id, s, CASE s WHEN 'tag' THEN 'succeeded' WHEN 'uids' THEN 'queued' ELSE 'blocked' END, 0, 3, 0, 0, '', now(),
        CASE WHEN s = 'uids' AND c.id %% 2 = 0 THEN now() END, false, '{}', '{}'
    FROM timelines_caserun c, unnest(%(stages)s::text[]) s WHERE c.encounter_id > 1000;
"""


@pytest.mark.deep
def test_a_long_queue_is_looked_at_in_part(client):
    run = stage_row().case_run.run
    values = {"run": run.pk, "cases": CASES, "stages": list(STAGE_ORDER)}
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in FILL.strip().split(";\n"):
            cursor.execute(statement.rstrip(";"), values)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE timelines_stagerun, timelines_caserun")
    read(client)  # what is read and built once
    began = time.monotonic()
    figures = read_figures(client)
    seconds = time.monotonic() - began
    print(f"{7 * CASES} stages, {CASES} of them queued: /metrics in {seconds:.2f} s")
    assert find(figures, "occurrent_jobs", kind="StageRun", state="queued") == CASES
    assert find(figures, "occurrent_queue_jobs", queue="pipeline") == 2000
    assert seconds < 5


MONITORING = ROOT / "docker/monitoring"
FUNCTIONS = {
    *("sum", "by", "on", "rate", "increase", "resets", "delta", "histogram_quantile", "topk"),
    *("and", "or", "unless", "absent"),
}
WORD = re.compile(r'"[^"]*"|\[[0-9a-z]+\]|[a-zA-Z_:][\w:]*')


def expressions() -> list[str]:
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))
    board = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    found = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return found + [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def exported(client: Client) -> dict[str, set[str]]:
    """Return the names of samples and the labels that they may have."""
    names = {"up": {"job", "instance"}}
    for family in text_string_to_metric_families(read(client)):
        endings = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",)}
        for ending in endings.get(family.type, ("",)):
            labels = {label for sample in family.samples for label in sample.labels}
            names[family.name + ending] = {*labels, "instance"}
    return names


def test_dashboard_and_alerts_name_only_what_is_exported(client):
    names = exported(client)
    for expression in expressions():
        used = [word for word in WORD.findall(expression) if word[0] not in '"[']
        metrics = {word for word in used if word.startswith("occurrent_") or word == "up"}
        assert metrics, expression
        assert metrics <= set(names), expression
        for opens, closes in ("()", "{}", "[]"):
            assert expression.count(opens) == expression.count(closes), expression
        labels = {word for word in used if word not in metrics and word not in FUNCTIONS}
        known = {"kind", "part", "queue", "check", "state", "place", "again", "noticed", "le"}
        known |= {"model", "role", "outcome", "direction", "route", "status", "job", "instance"}
        assert labels <= known, expression


def test_every_figure_is_on_the_dashboard_or_in_an_alert(client):
    shown = " ".join(expressions())
    missing = [
        name
        for name in exported(client)
        if not name.endswith(("_sum", "_count")) and name not in shown
    ]
    assert missing == []


def test_alerts_and_panels_are_complete():
    rules = yaml.safe_load((MONITORING / "alerts.yaml").read_text(encoding="utf-8"))
    for rule in rules["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["alert"] in (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")
    panels = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    assert (
        len({panel["id"] for panel in panels}) == len({p["title"] for p in panels}) == len(panels)
    )
    scrape = yaml.safe_load((MONITORING / "prometheus.yaml").read_text(encoding="utf-8"))
    assert scrape["scrape_configs"][0]["metrics_path"] == "/metrics"


def test_errors_are_counted_without_their_words(client, caplog):
    import logging

    logging.getLogger("ehr.somewhere").error("quotes %s", "zyxcanary")
    logging.getLogger("thirdparty").error("zyxcanary")
    from jobs.metrics.errors import CountErrors

    handler = CountErrors()
    for made in caplog.records:
        handler.handle(made)
    page = read(client)
    assert 'occurrent_errors_total{part="ehr"}' in page
    assert 'occurrent_errors_total{part="other"}' in page
    assert "zyxcanary" not in page


def test_roles_of_a_study_do_not_open_the_page(client):
    client.force_login(factories.make_user(factories.make_study(), *Role))
    assert client.get("/metrics").status_code == 401
