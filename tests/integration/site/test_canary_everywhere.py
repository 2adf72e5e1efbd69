"""No log and no metric has what people send, to any address.

A canary goes into every parameter of every address, and into the fields of the newer parts that
accept it: concepts, windows, recipes, notes to admins, searches, webhooks, names of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import get_resolver, reverse

from accounts.models import Role, User
from adjudication.models import Recipe
from cohorts.models import Concept, Window
from ehr.models import ImportJob, Upload
from ehr.uploads.execution import execute_import
from jobs.health.broker import open_broker
from jobs.metrics.counters import KEY
from jobs.models import Webhook, WebhookDelivery
from jobs.webhooks.delivery import execute_delivery
from tests import factories
from tests.integration.site.test_odd_requests import (
    Json,
    Odd,
    fill_address,
    known_ids,
    names_of_parameters,
    person_for,
    routes,
    send,
)
from tests.paths import DEMO
from tests.support.logs import collect_log
from tests.worlds.demo_world import make_demo
from tests.worlds.reconstructed import import_folder

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CANARY = "zyxcanary"
TOKEN = "a-token-of-more-than-thirty-two-characters"


@pytest.fixture(autouse=True)
def counting(settings, services, tmp_path) -> None:
    settings.METRICS_TOKEN = TOKEN
    settings.MEDIA_ROOT = tmp_path / "files"
    with open_broker() as broker:
        broker.delete(KEY)


@pytest.fixture
def log(tmp_path) -> Iterator[Path]:
    with collect_log(tmp_path / "this-process.log") as path:
        yield path


def check_silence(log: Path) -> None:
    """Check log, metrics, probes and the operator's page for the canary."""
    operator = Client()
    operator.force_login(User.objects.create_user("operator", is_superuser=True))
    answers = {
        path: operator.get(path, headers={"authorization": f"Bearer {TOKEN}"})
        for path in ("/metrics", "/readyz", "/operations/")
    }
    assert {path: answer.status_code for path, answer in answers.items()} == {
        "/metrics": 200,
        "/readyz": 200,
        "/operations/": 200,
    }
    for path, answer in answers.items():
        assert CANARY not in answer.content.decode().lower(), path
    assert "occurrent_requests_total{" in answers["/metrics"].content.decode()
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 5, "this process did log"
    assert [line for line in lines if CANARY in line.lower()] == []


@pytest.mark.xdist_group("demo")
def test_a_canary_in_every_parameter_of_every_address(log):
    demo = make_demo()
    clients = {
        name: Client(raise_request_exception=False)
        for name in ("admin", "adjudicator", "author", "superuser")
    }
    for name, client in clients.items():
        client.force_login(demo.people[name])
    ids, (read, everywhere) = known_ids(demo), names_of_parameters()
    sent = 0
    for route, module in routes(get_resolver().url_patterns):
        address, person = fill_address(route, ids), person_for(route)
        form = dict.fromkeys(sorted(everywhere | read.get(module, set())), CANARY)
        requests = [Odd(person, "post", address, form), Odd(person, "get", address, form)]
        if route.startswith("api/"):
            body = Json(form, CANARY)
            requests.append(Odd(person, "post", address, body, "application/json"))
        requests.append(Odd(person, "get", f"{address}{CANARY}"))
        for odd in requests:
            send(clients, odd)
            sent += 1
    assert sent > 800
    check_silence(log)


def test_a_canary_in_what_people_write_and_name(log):
    dataset = import_folder(DEMO / "intro")
    study = dataset.study
    client = Client(raise_request_exception=False)
    client.force_login(factories.make_user(study, Role.ADMIN, Role.CLINICIAN))
    _name_cohorts(client)
    _name_recipe(client)
    _name_files(client)
    _send_webhook(client)
    for address in ("timelines:cases", "timelines:search"):
        assert client.post(reverse(address), {"text": CANARY}).status_code == 200
    check_silence(log)


def _name_cohorts(client: Client) -> None:
    named = {"name": f"{CANARY} concept", "description": CANARY}
    client.post(reverse("cohorts:concept_create"), named)
    concept = Concept.objects.get(name__startswith=CANARY)
    rule = {"kind": "words", "value": CANARY, "polarities": ["present"]}
    client.post(reverse("cohorts:concept_rule_add", args=[concept.public_id]), rule)
    client.post(reverse("cohorts:concept_meaning", args=[concept.public_id]), {"text": CANARY})
    yaml = f"name: {CANARY}\nanchor: admission\nwhere:\n- stay: sex\n  is: female\n"
    client.post(reverse("cohorts:window_new"), {"step": "save", "yaml": yaml})
    assert Window.objects.filter(name=CANARY).exists()


def _name_recipe(client: Client) -> None:
    text = f"name: {CANARY}\ncohorts: [intro]\nruns:\n- name: rules\n  backbone: rules\n"
    saved = {"shown": "yaml", "step": "save", "yaml": text}
    client.post(reverse("adjudication:recipe_new"), saved)
    assert Recipe.objects.filter(name=CANARY).exists()
    client.post(reverse("adjudication:recipe_new"), {**saved, "yaml": f"{text}{CANARY}: ["})


def _name_files(client: Client) -> None:
    files = [SimpleUploadedFile(f"{CANARY}.csv", f"t,event,value\n{CANARY},x,1\n".encode())]
    sent = client.post(reverse("ehr:import_new"), {"files": files})
    assert sent.status_code == 302
    upload = Upload.objects.latest("pk")
    address = reverse("ehr:upload_settings", args=[upload.public_id])
    client.post(address, {"format": "csv", "name": CANARY, "import": "1"})
    for pk in list(ImportJob.objects.values_list("pk", flat=True)):
        execute_import(pk)


def _send_webhook(client: Client) -> None:
    url = f"https://{CANARY}.invalid/{CANARY}"
    client.post(reverse("jobs:webhook_add"), {"url": url})
    hook = Webhook.objects.get(url=url)
    client.post(reverse("jobs:webhook_test", args=[hook.public_id]))
    execute_delivery(WebhookDelivery.objects.get().pk)
    WebhookDelivery.objects.update(state="failed", attempt=9, finished_at="2126-11-27T00:00Z")
