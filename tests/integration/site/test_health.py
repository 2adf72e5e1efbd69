"""Probes: who may ask, what they say, how long a dead server delays them."""

from __future__ import annotations

import socket
import time

import pytest
from django.db import connection
from django.test import Client

from config.health import checks
from config.health.checks import Checker

pytestmark = pytest.mark.django_db(transaction=True)

ALL_OK = dict.fromkeys(("database", "migrations", "broker", "disk"), "ok")


@pytest.fixture(autouse=True)
def checker(monkeypatch, settings, services):
    """A checker that remembers nothing of other tests."""
    settings.FREE_DISK_BYTES = 0
    made = Checker(checks.CHECKS)
    monkeypatch.setattr("config.views.health.checker", made)
    return made


@pytest.fixture
def hung_server():
    """The port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def ask_ready(client: Client):
    before = time.monotonic()
    response = client.get("/readyz")
    assert time.monotonic() - before < 3, "a probe waits at most three seconds"
    return response


def test_the_process_answers_without_database_or_session(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"ok": True})
    assert not response.cookies
    assert response["Cache-Control"] == "no-store"


def test_a_running_installation_is_ready(client):
    response = ask_ready(client)
    assert response.json() == {"ready": True, "checks": ALL_OK}
    assert response.status_code == 200
    assert not response.cookies


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_come_by_the_address_of_the_machine_over_http(client, settings, path):
    settings.ALLOWED_HOSTS = ["occurrent.example.org"]
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(path, headers={"host": "10.1.2.3:8000"}).status_code == 200
    assert client.get("/sign-in/", headers={"host": "10.1.2.3:8000"}).status_code != 200


def test_only_reading_is_allowed(client):
    assert client.post("/readyz").status_code == 405
    assert client.head("/healthz").status_code == 200


def test_a_database_that_hangs_makes_it_not_ready_in_time(client, monkeypatch, hung_server):
    elsewhere = {**connection.get_connection_params(), "host": "127.0.0.1", "port": hung_server}
    monkeypatch.setattr(
        "django.db.backends.postgresql.base.DatabaseWrapper.get_connection_params",
        lambda self: elsewhere,
    )
    response = ask_ready(client)
    assert response.status_code == 503
    assert response.json() == {
        "ready": False,
        "checks": {**ALL_OK, "database": "not ok", "migrations": "not ok"},
    }


def test_a_database_that_refuses_makes_it_not_ready(client, monkeypatch, tmp_path):
    nowhere = {**connection.get_connection_params(), "host": str(tmp_path)}
    monkeypatch.setattr(
        "django.db.backends.postgresql.base.DatabaseWrapper.get_connection_params",
        lambda self: nowhere,
    )
    response = ask_ready(client)
    assert response.json()["checks"]["database"] == "not ok"
    assert str(tmp_path) not in response.content.decode()


def test_a_broker_that_hangs_makes_it_not_ready_in_time(client, monkeypatch, hung_server):
    from celery import current_app

    monkeypatch.setattr(current_app.conf, "broker_read_url", f"redis://127.0.0.1:{hung_server}/0")
    response = ask_ready(client)
    assert response.json()["checks"] == {**ALL_OK, "broker": "not ok"}


def test_a_missing_migration_makes_it_not_ready(client, monkeypatch):
    known = checks.known_migrations() | {("ehr", "9999_next")}
    monkeypatch.setattr(checks, "known_migrations", lambda: known)
    assert ask_ready(client).json()["checks"] == {**ALL_OK, "migrations": "not ok"}


def test_a_full_disk_makes_it_not_ready(client, settings):
    settings.FREE_DISK_BYTES = 10**18
    assert ask_ready(client).json()["checks"] == {**ALL_OK, "disk": "not ok"}
