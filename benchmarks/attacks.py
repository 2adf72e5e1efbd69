"""Measure pages while clients attack the server without signing in.

Run `python -m benchmarks.attacks`. 16 clients send different names and passwords without a pause,
or 24 connections send half a request and wait, while one person opens a page. The peer is the same
server without its limits: gunicorn's own worker, as many checks of passwords as threads, and no
limit of attempts. The goals, on two free cores: the median page in both attacks takes at most 500
ms, and the peer at least five times as long.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.pages import create_session, free_port
from benchmarks.support.database import private_database

GOAL_MS, GOAL_RATIO = 500.0, 5.0
CLIENTS, HALF_SENT = 16, 24
#: A page that takes longer counts as this long.
PATIENCE_SECONDS = 10.0
PAGE = "/help/"
WITHOUT = {
    "PASSWORD_CHECKS": "8",
    "SIGN_IN_ADDRESS_ATTEMPTS": "1000000",
    "SIGN_IN_TOTAL_ATTEMPTS": "1000000",
}
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


def main() -> int:
    """Print medians and ratios; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="how long each attack lasts")
    seconds = parser.parse_args().seconds
    print(f"machine: {os.cpu_count()} cores, {os.getloadavg()[0]:.1f} busy before the start")
    with private_database():
        session = make_person()
        limited = measure_server("with limits", [], {}, session, seconds)
        options = ["--worker-class", "gthread"]
        peer = measure_server("without limits", options, WITHOUT, session, seconds)
    met = True
    for attack in ("sign-ins", "half-sent requests"):
        ratio = peer[attack] / limited[attack]
        print(f"{attack}: {limited[attack]:.0f} ms, {ratio:.1f} times as fast as without limits")
        met = met and limited[attack] <= GOAL_MS and ratio >= GOAL_RATIO
    return 0 if met else 1


def make_person() -> str:
    """Return the session of a person, and make accounts to guess at."""
    from accounts.models import Role, User
    from tests import factories

    person = factories.make_user(factories.make_study("Benchmark"), Role.CLINICIAN)
    for number in range(CLIENTS):
        User.objects.create_user(username=f"client{number}", password="Fifteen-Beige-Lampposts")
    return create_session(person)


def measure_server(
    name: str, options: list[str], environment: dict[str, str], session: str, seconds: float
) -> dict[str, float]:
    """Return the median milliseconds of the page, by what happens meanwhile."""
    with serve(options, environment) as port:

        def page() -> float:
            return time_page(port, session)

        for _ in range(10):
            page()
        found = {"nothing": repeat(page, 3.0)}
        with sign_in_clients(port):
            found["sign-ins"] = repeat(page, seconds)
        time.sleep(3)
        with half_sent(port):
            found["half-sent requests"] = repeat(page, seconds)
    for attack, times in found.items():
        worst = max(times)
        print(f"{name}, {attack}: median {statistics.median(times):.0f} ms, worst {worst:.0f} ms")
    return {attack: statistics.median(times) for attack, times in found.items()}


def repeat(page: Callable[[], float], seconds: float) -> list[float]:
    """Open the page again and again."""
    times, end = [page()], time.monotonic() + seconds
    while time.monotonic() < end:
        times.append(page())
    return times


def time_page(port: int, session: str) -> float:
    """Return the milliseconds of one page, on a connection of its own."""
    started = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", PAGE, headers={"Cookie": f"sessionid={session}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{PAGE} answered {answer.status}")
    except TimeoutError:
        return PATIENCE_SECONDS * 1000
    finally:
        connection.close()
    return (time.perf_counter() - started) * 1000


@contextmanager
def sign_in_clients(port: int) -> Iterator[None]:
    """Let clients send names and passwords until the block ends."""
    stop = threading.Event()

    def client(number: int) -> None:
        while not stop.is_set():
            try:
                send_password(port, f"client{number}")
            except (OSError, http.client.HTTPException):
                continue

    threads = [threading.Thread(target=client, args=(n,), daemon=True) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    yield
    stop.set()
    for thread in threads:
        thread.join(60)


def send_password(port: int, name: str) -> None:
    """Open the form and send it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/sign-in/")
        answer = connection.getresponse()
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        token = TOKEN.search(answer.read().decode())
        fields = {
            "username": name,
            "password": "a guess",
            "csrfmiddlewaretoken": token and token[1],
        }
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/sign-in/", urlencode(fields), headers)
        connection.getresponse().read()
    finally:
        connection.close()


@contextmanager
def half_sent(port: int) -> Iterator[None]:
    """Leave connections that have sent half a request."""
    with ExitStack() as stack:
        for _ in range(HALF_SENT):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(
                b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\na"
            )
        time.sleep(0.5)
        yield


@contextmanager
def serve(options: list[str], environment: dict[str, str]) -> Iterator[int]:
    """Run the web process as it is deployed; yields its port."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--config", "python:config.gunicorn"]
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        process = subprocess.Popen(
            [*command, *options, "config.wsgi"],
            cwd=Path(__file__).resolve().parents[1],
            env={**os.environ, **environment, "PORT": str(port)},
            stdout=log,
            stderr=log,
        )
        try:
            for _ in range(240):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.25)
            yield port
        finally:
            process.terminate()
            process.wait(timeout=60)


if __name__ == "__main__":
    raise SystemExit(main())
