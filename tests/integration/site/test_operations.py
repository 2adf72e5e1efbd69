"""The operator's page: for superusers, in plain sentences, with retries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import add_role
from accounts.models import AuditEvent, Notification, Role, User
from config.backups.history import record_failed, record_made
from jobs.health.broker import open_broker
from jobs.health.presence import Worker, report
from jobs.leases.clock import database_time
from jobs.models import Webhook, WebhookDelivery
from tests import factories
from tests.support.broker import empty_broker
from tests.worlds.job_rows import expire_lease, stage_row
from timelines.models import Run

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/operations/"


@pytest.fixture(autouse=True)
def empty(services, settings) -> None:
    settings.FREE_DISK_BYTES = 0
    empty_broker()


@pytest.fixture
def operator() -> User:
    return User.objects.create_user("operator", is_superuser=True)


@pytest.fixture
def client(operator) -> Client:
    found = Client()
    found.force_login(operator)
    return found


def make_delivery(**fields) -> WebhookDelivery:
    study = factories.make_study()
    hook = Webhook.objects.create(study=study, url="https://receiver.example/", secret="s" * 64)
    values = {"state": "failed", "attempt": 9, "finished_at": timezone.now()}
    return WebhookDelivery.objects.create(
        webhook=hook, event="test", object_id="a" * 12, **{**values, **fields}
    )


def test_only_superusers_open_it(client):
    admin = Client()
    admin.force_login(factories.make_user(factories.make_study(), *Role))
    assert admin.get(PAGE).status_code == 403
    assert admin.post(reverse("operations_retry")).status_code == 403
    assert admin.get(reverse("operations_models")).status_code == 403
    assert "Operations" not in admin.get("/").text
    assert Client().get(PAGE).status_code == 302
    assert client.get(PAGE).status_code == 200
    assert f'href="{PAGE}"' in client.get("/").text, "without a study, too"


def test_a_queue_without_a_worker_is_named(client):
    stage_row()
    Run.objects.update(backbone="prompted")
    assert "No worker for <code>generate</code>. 1 job waits." in client.get(PAGE).text
    report(Worker("machine-one", 7, ("generate", "pipeline"), "threads", 4))
    text = client.get(PAGE).text
    assert "No worker for" not in text
    assert "machine-one" in text
    assert "generate, pipeline" in text


def test_a_message_without_a_worker_is_named(client):
    with open_broker() as broker:
        broker.lpush("ingest", "{}")
    assert "No worker for <code>ingest</code>. 1 message waits." in client.get(PAGE).text


def test_a_broker_that_is_away_is_named(client, monkeypatch):
    from celery import current_app

    monkeypatch.setattr(current_app.conf, "broker_read_url", "redis://127.0.0.1:9/0")
    text = client.get(PAGE).text
    assert "The broker does not answer." in text
    assert "queues and workers are unknown" in text


def test_a_lost_and_a_failed_job_have_a_link_to_their_page(client, operator):
    job = stage_row(state="running", lease_expires_at=database_time())
    job.__class__.objects.filter(pk=job.pk).update(lease_expires_at="2020-01-01T00:00Z")
    stage_row(state="failed", finished_at=timezone.now(), reasons=["attempt 3: OutOfTime"])
    stage_row(state="failed", finished_at="2020-01-01T00:00Z", reasons=["long ago"])
    text = client.get(PAGE).text
    assert "Its worker stopped answering, and nothing took it over" in text
    assert "1 job lost the worker and nothing took over." in text
    assert "attempt 3: OutOfTime" in text
    assert "long ago" not in text
    run = Run.objects.get(cases__stages__pk=job.pk)
    address = reverse("timelines:run", args=[run.public_id])
    assert run.study.name in text
    assert address not in text, "the operator has no role in the study"
    add_role(study=run.study, user=operator, role=Role.ADMIN, by=None)
    assert address in client.get(PAGE).text
    assert 'name="job"' not in text, "a study's page decides on the jobs of its runs"


def test_a_job_without_a_page_is_queued_again(client, operator):
    delivery = make_delivery()
    assert "Retry" in client.get(PAGE).text
    values = {"kind": "WebhookDelivery", "job": str(delivery.pk)}
    response = client.post(reverse("operations_retry"), values, follow=True)
    assert "The job is queued again." in response.text
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt) == ("queued", 0)
    event = AuditEvent.objects.get(action="job.retry")
    assert (event.actor, event.object_type) == (operator, "jobs.webhookdelivery")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"kind": "WebhookDelivery", "job": "999999"},
        {"kind": "WebhookDelivery", "job": "²"},
        {"kind": "WebhookDelivery", "job": "9" * 40},
        {"kind": "User", "job": "1"},
    ],
)
def test_an_unknown_job_is_refused_in_words(client, values):
    response = client.post(reverse("operations_retry"), values, follow=True)
    assert "This job has changed." in response.text


def test_a_job_with_a_page_is_not_queued_from_here(client):
    job = stage_row(state="failed", finished_at=timezone.now())
    client.post(reverse("operations_retry"), {"kind": "StageRun", "job": str(job.pk)})
    job.refresh_from_db()
    assert job.state == "failed"


def test_a_job_that_went_on_meanwhile_is_refused_in_words(client):
    delivery = make_delivery(state="succeeded")
    values = {"kind": "WebhookDelivery", "job": str(delivery.pk)}
    response = client.post(reverse("operations_retry"), values, follow=True)
    assert "This job has changed." in response.text


def test_storage_messages_and_versions(client):
    person = factories.make_user(study := factories.make_study(), Role.ADMIN)
    make_delivery()
    Notification.objects.create(
        recipient=person, study=study, kind="run_failed", path="/", key="1", mail=True
    )
    Notification.objects.update(created_at=timezone.now() - timedelta(days=4))
    text = client.get(PAGE).text
    for words in (
        "No backup was made yet.",
        "1 mail could not be sent and was given up.",
        "1 webhook message not accepted by the receiver.",
        "PostgreSQL",
        "pgvector",
        "all applied",
    ):
        assert words in text


def test_the_last_backup_and_why_one_failed(client):
    record_made(name="one", by=None, detail={"bytes": 5_000_000, "encrypted": True})
    text = " ".join(client.get(PAGE).text.split())
    assert "UTC, 4.8 MB, encrypted" in text
    assert "No backup" not in text
    record_failed(name="two", by=None, reason="The disk is full.")
    assert "The last backup failed. The disk is full." in client.get(PAGE).text


def test_htmx_gets_the_part_that_changes(client):
    part = client.get(PAGE, headers={"hx-request": "true"}).text
    assert part.lstrip().startswith('<div id="operations"')
    assert "<html" not in part


def test_models_are_shown_to_operators_without_a_study(client):
    response = client.get(reverse("operations_models"))
    assert 'id="model-health"' in response.text


def test_expired_leases_count_at_once(client):
    job = stage_row(state="running", lease_expires_at=database_time())
    expire_lease(job)
    text = client.get(PAGE).text
    assert "StageRun" in text
    assert "No job is stuck." in text, "the sweeper has two minutes"
