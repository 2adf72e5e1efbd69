"""Workers that are alive, as the broker knows them. The workers are real."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from config.services.processes import wait_until
from jobs.health import presence
from jobs.health.broker import open_broker
from jobs.health.presence import Worker, find_sweep_age, find_workers, note_sweep, report
from jobs.metrics import counters
from jobs.metrics.stored import load_stored
from jobs.models import Webhook, WebhookDelivery
from jobs.tasks import send_delivery_hints
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty(services) -> None:
    with open_broker() as broker:
        broker.delete(presence.KEY, presence.SWEPT, counters.KEY)


@pytest.fixture
def worker(process_environment) -> Iterator[subprocess.Popen[bytes]]:
    options = ["--queues", "pipeline,judge", "--pool", "prefork", "--concurrency", "2"]
    command = [sys.executable, "-m", "celery", "--app", "config", "worker", *options]
    environment = {**process_environment, "METRICS_TOKEN": "t" * 40}
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def load() -> list[presence.Presence]:
    with open_broker() as broker:
        return find_workers(broker)


def fail_delivery() -> None:
    """Let the worker send a message to a host that does not exist."""
    study = factories.make_study()
    hook = Webhook.objects.create(study=study, url="https://receiver.invalid/", secret="s" * 64)
    delivery = WebhookDelivery.objects.create(webhook=hook, event="test", object_id="a" * 12)
    send_delivery_hints([delivery.pk])
    failed = WebhookDelivery.objects.filter(pk=delivery.pk, reasons__len=1)
    assert wait_until(failed.exists, seconds=120)


@pytest.mark.slow
def test_a_worker_is_known_with_its_queues_until_it_ends(worker):
    assert wait_until(lambda: bool(load()), seconds=120)
    (found,) = load()
    assert found.alive
    assert found.worker == Worker(
        socket.gethostname(), worker.pid, ("judge", "pipeline"), "prefork", 2
    )
    fail_delivery()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0
    assert load() == []
    with open_broker() as broker:
        counted = load_stored(broker)
    failed = ("occurrent_attempts_failed_total", "WebhookDelivery", "yes")
    assert counted[failed] == 1, "a process that ends sends what it has counted"


@pytest.mark.slow
def test_a_killed_worker_is_silent_after_a_while(worker, monkeypatch):
    assert wait_until(lambda: bool(load()), seconds=120)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    (found,) = load()
    monkeypatch.setattr(presence, "ALIVE_SECONDS", 0.5)
    assert wait_until(lambda: not load()[0].alive, seconds=60)
    assert load()[0].worker == found.worker


def test_a_line_is_forgotten_after_a_day():
    old, new = Worker("old", 1, ("embed",), "solo", 1), Worker("new", 2, ("embed",), "solo", 1)
    report(old)
    report(new)
    with open_broker() as broker:
        line = json.loads(broker.hget(presence.KEY, old.name))
        line["at"] -= presence.FORGET_SECONDS + 1
        broker.hset(presence.KEY, old.name, json.dumps(line))
        assert [one.worker for one in find_workers(broker)] == [new]
        assert broker.hlen(presence.KEY) == 1


def test_a_line_of_another_version_is_left_out():
    with open_broker() as broker:
        broker.hset(presence.KEY, "other", json.dumps({"at": 0, "shape": "new"}))
        broker.hset(presence.KEY, "worse", "[]")
        assert find_workers(broker) == []


def test_the_age_of_the_sweep():
    with open_broker() as broker:
        assert find_sweep_age(broker) is None
        note_sweep()
        assert 0 <= find_sweep_age(broker) < 60
