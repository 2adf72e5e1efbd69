"""`make run` from start to Ctrl-C.

A signed-in page outlives the kill of the database and of the web process.
"""

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import suppress

import psutil
import pytest

from config.env import BASE_DIR
from config.services import embedded
from config.services.processes import find_processes, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.deep]

SIGN_IN = """
from django.contrib.auth import get_user_model
from django.test import Client
client = Client()
client.force_login(get_user_model().objects.create_user(username="walker", password="not used here"))
print(client.cookies["sessionid"].value)
"""


@pytest.fixture
def environment(private_services):
    """The environment of an installation of its own."""
    return {
        **os.environ,
        "OCCURRENT_VAR": str(private_services.var),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "WORKER_CONCURRENCY": "1",
    }


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def session(environment, private_services):
    """Return the cookie of a signed-in person.

    The services are stopped again, so that the server starts and stops its own.
    """
    manage(environment, "migrate", "--verbosity", "0")
    key = manage(environment, "shell", "--no-imports", "--command", SIGN_IN).split()[-1]
    embedded.stop(private_services)
    return key


@pytest.fixture
def server(environment, port):
    command = [sys.executable, "-m", "config.services.serve", "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()


def manage(environment, *arguments):
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=BASE_DIR, env=environment, check=True, capture_output=True, text=True
    ).stdout


def read_status(port, session):
    """Return the status of a page that looks the session up, or None.

    None means that nobody answers.
    """
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/schema/", headers={"Cookie": f"sessionid={session}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def read_command(process):
    """Return the command line; empty for a process that has ended."""
    with suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())
    return ""


def alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_page_outlives_kills_and_ctrl_c_leaves_nothing(private_services, session, server, port):
    assert any(f"serving on http://127.0.0.1:{port}" in line for line in server.stdout)
    assert wait_until(lambda: read_status(port, session) == 200, seconds=180)

    for process in find_processes(private_services.postgres_data):
        # without the first of them the others end by themselves
        with suppress(psutil.NoSuchProcess):
            process.kill()
    assert wait_until(lambda: read_status(port, session) == 200, seconds=180)

    [web] = [
        child
        for child in psutil.Process(server.pid).children()
        if "config.gunicorn" in read_command(child)
    ]
    web.kill()
    assert wait_until(lambda: read_status(port, session) == 200, seconds=180)

    children = psutil.Process(server.pid).children(recursive=True)
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=180) == 0
    assert [child for child in children if alive(child)] == []
    assert read_status(port, session) is None
    assert embedded.status(private_services) == {"postgres": False, "broker": False}
