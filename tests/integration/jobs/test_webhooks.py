"""Webhooks from the page of the study to a receiver and back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEvent, Role, Study
from jobs.models import JobState, Webhook, WebhookDelivery
from jobs.webhooks.actions import MOST, add_webhook, announce_recent
from jobs.webhooks.addresses import AddressRefused
from jobs.webhooks.delivery import SIGNATURE, execute_delivery, sign
from tests import factories
from tests.support.pages import extract_text
from tests.worlds.evaluated import make_evaluation
from timelines.models import StageRun

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Receiver:
    """A server that remembers what it gets and answers in turn."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    received: list[tuple[str, bytes]] = field(default_factory=list)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_HTTP = settings.WEBHOOK_PRIVATE = True
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.received.append((self.headers[SIGNATURE], body))
            self.send_response(found.answers.pop(0) if found.answers else 200)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def study() -> Study:
    return factories.make_study()


@pytest.fixture
def web(study: Study) -> Client:
    client = Client()
    client.force_login(factories.make_user(study, Role.ADMIN))
    return client


def deliver() -> JobState | None:
    return execute_delivery(WebhookDelivery.objects.get().pk)


def test_an_admin_adds_tests_and_removes_one(web, study, receiver):
    page = extract_text(web.post("/study/webhooks/", {"url": receiver.url}))
    hook = Webhook.objects.get()
    assert hook.secret in page
    shown = extract_text(web.get("/study/"))
    assert receiver.url in shown
    assert hook.secret not in shown
    web.post(f"/study/webhooks/{hook.public_id}/test/")
    assert deliver() == JobState.SUCCEEDED
    ((signature, body),) = receiver.received
    at = int(signature.partition(",")[0].removeprefix("t="))
    assert signature == sign(hook.secret, at, body)
    assert set(json.loads(body)) == {"id", "event", "study", "object"}
    assert json.loads(body)["event"] == "test"
    assert "200" in extract_text(web.get("/study/"))
    web.post(f"/study/webhooks/{hook.public_id}/remove/")
    assert not Webhook.objects.exists()
    trail = AuditEvent.objects.filter(object_type="jobs.webhook").order_by("pk")
    assert [e.action for e in trail] == ["webhook.add", "webhook.test", "webhook.remove"]


def test_private_addresses_are_refused_with_a_sentence(web, study):
    shown = extract_text(web.post("/study/webhooks/", {"url": "https://10.0.0.1/"}, follow=True))
    assert "private network" in shown
    assert not Webhook.objects.exists()


def test_a_study_has_at_most_ten_and_each_once(study, receiver):
    admin = factories.make_user(study, Role.ADMIN)
    for n in range(MOST):
        add_webhook(study=study, url=f"{receiver.url}/{n}", by=admin)
    with pytest.raises(AddressRefused, match="at most"):
        add_webhook(study=study, url=receiver.url, by=admin)
    with pytest.raises(AddressRefused, match="already"):
        add_webhook(study=study, url=f"{receiver.url}/1", by=admin)


def test_what_ended_is_announced_once_and_retried_until_it_is_taken(study, receiver):
    add_webhook(study=study, url=receiver.url, by=factories.make_user(study, Role.ADMIN))
    dataset = factories.make_dataset(study)
    case_run = factories.make_case_run(
        factories.make_run(dataset), factories.make_encounter(dataset, case_id="1")
    )
    StageRun.objects.create(case_run=case_run, stage="tag", state=JobState.QUEUED)
    announce_recent()
    assert not WebhookDelivery.objects.exists()
    StageRun.objects.update(state=JobState.SUCCEEDED)
    announce_recent()
    announce_recent()
    delivery = WebhookDelivery.objects.get()
    assert (delivery.event, delivery.object_id) == ("run.ended", case_run.run.public_id)
    receiver.answers = [503, 302, 200]
    for state in (JobState.QUEUED, JobState.QUEUED, JobState.SUCCEEDED):
        WebhookDelivery.objects.update(not_before=None)
        assert deliver() == state
    delivery.refresh_from_db()
    assert delivery.status == 200
    assert delivery.reasons == [
        "attempt 1: DeliveryFailed: the receiver answered 503",
        "attempt 2: DeliveryFailed: the receiver answered 302",
    ]
    assert len(receiver.received) == 3, "no redirect is followed"


def test_an_evaluation_is_announced_to_its_own_study(study, receiver):
    other = factories.make_study()
    for one in (study, other):
        url = f"{receiver.url}?{one.public_id}"
        add_webhook(study=one, url=url, by=factories.make_user(one, Role.ADMIN))
    evaluation = make_evaluation(study, [factories.make_dataset(study)], state=JobState.FAILED)
    type(evaluation).objects.update(finished_at=timezone.now())
    announce_recent()
    delivery = WebhookDelivery.objects.get()
    assert (delivery.event, delivery.webhook.study) == ("evaluation.ended", study)


def test_a_name_that_leads_inside_is_not_asked(study, receiver, settings):
    admin = factories.make_user(study, Role.ADMIN)
    add_webhook(study=study, url=receiver.url.replace("127.0.0.1", "localhost"), by=admin)
    settings.WEBHOOK_PRIVATE = False
    WebhookDelivery.objects.create(
        webhook=Webhook.objects.get(), event="test", object_id="a" * 12, occasion="1"
    )
    assert deliver() == JobState.FAILED
    assert receiver.received == []
