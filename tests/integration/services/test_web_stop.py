"""The web process ends within its deadline, and finishes what it answers."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from config.env import BASE_DIR
from config.services.processes import wait_until
from config.services.supervisor import STOP_SECONDS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def web(process_environment, port) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "gunicorn", "--config", "python:config.gunicorn"]
    environment = {**process_environment, "PORT": str(port)}
    process = subprocess.Popen([*command, "config.wsgi"], cwd=BASE_DIR, env=environment)
    yield process
    process.kill()
    process.wait()


def ask(port: int, path: str) -> tuple[http.client.HTTPConnection, int]:
    """Return the open connection and the status of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": "10.1.2.3"})
    answer = connection.getresponse()
    answer.read()
    return connection, answer.status


def answers(port: int) -> bool:
    try:
        connection, status = ask(port, "/healthz")
    except (OSError, http.client.HTTPException):
        return False
    connection.close()
    return status == 200


def test_a_stopped_web_process_ends_although_connections_are_open(web, port):
    assert wait_until(lambda: answers(port), seconds=120)
    connection, status = ask(port, "/readyz")
    assert status in {200, 503}
    web.send_signal(signal.SIGTERM)
    assert web.wait(STOP_SECONDS) == 0, "its supervisor would kill it later"
    connection.close()
