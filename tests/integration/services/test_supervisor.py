"""The supervisor restarts what is killed, and its children die with it.

It names a port in use.
"""

import os
import signal
import socket
import subprocess
import sys
import textwrap

import psutil
import pytest

from config.env import BASE_DIR
from config.services import embedded
from config.services.errors import ServiceError
from config.services.processes import end, find_processes, wait_until
from config.services.serve import beat, require_free_port, worker
from config.services.supervisor import Child, Supervisor

pytestmark = pytest.mark.slow

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def embedded_only(private_services, monkeypatch):
    """Return the private services; no variable replaces one of them."""
    monkeypatch.setenv("OCCURRENT_VAR", str(private_services.var))
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "config.settings")
    return private_services


def tick_until(supervisor, condition, seconds=120):
    def tick_and_ask():
        supervisor.tick()
        return condition()

    return wait_until(tick_and_ask, seconds=seconds)


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_killed_child_and_a_killed_service_come_back(embedded_only):
    said = []
    with Supervisor(embedded_only, say=said.append) as supervisor:
        child = Child("sleeper", SLEEP)
        supervisor.add(child)
        first = child.process.pid
        os.kill(first, signal.SIGKILL)
        end(find_processes(embedded_only.broker_data), signal=signal.SIGKILL, patience=60)
        assert tick_until(
            supervisor, lambda: child.process is not None and child.process.pid != first
        )
        assert embedded.status(embedded_only) == {"postgres": True, "broker": True}
        second = child.process.pid
    assert any(line.startswith("sleeper ended (signal 9)") for line in said)
    assert "broker had ended and was started again" in said
    assert not alive(second)
    assert embedded.status(embedded_only) == {"postgres": False, "broker": False}


@pytest.mark.deep
def test_services_that_ran_before_are_left_running(embedded_only):
    embedded.ensure_running(embedded_only)
    with Supervisor(embedded_only):
        pass
    assert embedded.status(embedded_only) == {"postgres": True, "broker": True}


@pytest.mark.deep
def test_a_child_that_keeps_ending_is_restarted_with_pauses_and_given_up(embedded_only):
    said = []
    with Supervisor(embedded_only, say=said.append) as supervisor:
        supervisor.add(
            Child(
                "failing",
                [sys.executable, "-c", "print('no such thing', flush=True); raise SystemExit(3)"],
            )
        )
        with pytest.raises(
            ServiceError,
            match=r"failing ended 3 times in a row \(status 3\): no such thing\. Its log is .*failing\.log",
        ):
            supervisor.watch(until=lambda: False)
    assert [line.split("; see")[0] for line in said] == [
        "failing ended (status 3) and is started again in 1 s",
        "failing ended (status 3) and is started again in 2 s",
    ]
    assert embedded.status(embedded_only) == {"postgres": False, "broker": False}


@pytest.mark.deep
def test_a_child_that_has_run_for_long_is_never_given_up(embedded_only):
    with Supervisor(embedded_only, say=lambda line: None) as supervisor:
        child = Child("failing", [sys.executable, "-c", "raise SystemExit(3)"], was_steady=True)
        supervisor.add(child)
        assert tick_until(supervisor, lambda: child.failures == 4)


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="relies on Linux's parent-death signal")
def test_children_die_with_a_killed_supervisor(embedded_only):
    script = textwrap.dedent(f"""
        from config.services.paths import default_paths
        from config.services.supervisor import Child, Supervisor
        supervisor = Supervisor(default_paths()).__enter__()
        child = Child("sleeper", {SLEEP!r})
        supervisor.add(child)
        print(child.process.pid, flush=True)
        supervisor.watch(until=lambda: False)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=BASE_DIR, stdout=subprocess.PIPE, text=True
    )
    child = int(process.stdout.readline())
    assert alive(child)
    process.kill()
    process.wait()
    assert wait_until(lambda: not alive(child), seconds=60)


@pytest.mark.deep
def test_worker_and_scheduler_outlive_the_broker(embedded_only):
    """A worker reconnects to the restarted broker and answers a ping."""
    ping = [sys.executable, "-m", "celery", "--app", "config", "inspect", "ping", "--timeout", "2"]

    def answers():
        return (
            "pong"
            in subprocess.run(
                ping, cwd=BASE_DIR, capture_output=True, text=True, check=False
            ).stdout
        )

    with Supervisor(embedded_only, say=lambda line: None) as supervisor:
        running = [worker(), beat()]
        for child in running:
            supervisor.add(child)
        assert tick_until(supervisor, answers, seconds=180)
        end(find_processes(embedded_only.broker_data), signal=signal.SIGKILL, patience=60)
        pids = [child.process.pid for child in running]
        assert tick_until(supervisor, answers, seconds=180)
        assert [child.process.pid for child in running] == pids


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ServiceError) as raised:
            require_free_port(port)
    assert str(raised.value).startswith(f"Port {port} cannot be used (Address already in use) by ")
    assert f"(pid {os.getpid()})" in str(raised.value)
    assert f"PORT={port + 1}" in str(raised.value)
