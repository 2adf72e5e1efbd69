"""gunicorn with a worker class, and clients that misbehave."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from tests.paths import ROOT

OURS = "config.web.worker.BufferingWorker"
HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"
#: What a client sends and then waits: a part of a head, of a body, and an answered request whose
#: connection it never closes, alone and before half of another one.
HALF_SENT = {
    "head": HEAD,
    "body": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
    "not closed": b"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
    "second head": HEAD + b"\r\n" + HEAD,
    "large body": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\nabc",
}


@dataclass(frozen=True)
class WebServer:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]

    def ask(self, body: object = None, *, seconds: float = 10.0, **headers: str) -> str:
        """Return the answer; raises OSError after so many seconds."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("GET" if body is None else "POST", "/", body, headers)  # type: ignore[arg-type]
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    @contextmanager
    def half_sent(self, sent: bytes, clients: int = 24) -> Iterator[None]:
        """Leave so many connections that have sent this."""
        with ExitStack() as stack:
            for _ in range(clients):
                client = socket.create_connection(("127.0.0.1", self.port))
                stack.callback(client.close)
                client.sendall(sent)
            time.sleep(0.3)
            yield


@contextmanager
def run_echo(worker: str, threads: int = 8) -> Iterator[WebServer]:
    """Serve `tests.support.echo` with that worker class."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--worker-class",
        worker,
        "--threads",
        str(threads),
    ]
    command += ["--bind", f"127.0.0.1:{port}", "--log-level", "critical"]
    process = subprocess.Popen(
        [*command, "--graceful-timeout", "3", "tests.support.echo"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    server = WebServer(port, process)
    try:
        _wait_for(server)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(server: WebServer) -> None:
    for _ in range(200):
        with suppress(OSError):
            server.ask(seconds=2)
            return
        time.sleep(0.05)
    raise AssertionError("gunicorn does not answer")
