"""Run the web process, a worker and the scheduler until Ctrl-C.

`python -m config.services.serve` (`make run`). One supervisor runs them all.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import sys
import time

from config.env import Env, EnvError
from config.services.commands import manage, require_migrated_database
from config.services.errors import ServiceError
from config.services.paths import default_paths
from config.services.processes import find_listener
from config.services.supervisor import Child, Supervisor
from config.services.terminal import end_on_sigterm, print_now
from config.services.worker import make_worker

DEFAULT_PORT = 8000
WEB_START_SECONDS = 180.0
#: The web process serves files by names made from their content, so that browsers may cache them.
HASHED = {"HASHED_STATIC": "1"}
QUEUES = "ingest,pipeline,generate,embed,judge"


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal ends it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m config.services.serve", description=__doc__)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    port = parser.parse_args(arguments).port
    end_on_sigterm()
    try:
        require_free_port(port)
        with Supervisor(default_paths(), say=print_now) as supervisor:
            print_now("bringing the database up to date")
            require_migrated_database()
            supervisor.add(worker())
            supervisor.add(beat())
            serve(supervisor, port)
    except KeyboardInterrupt:
        print_now("stopped")
    except (EnvError, ServiceError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def serve(supervisor: Supervisor, port: int) -> None:
    """Add the web process and keep everything running until interrupted.

    Prints the address once the web process answers.
    """
    manage("collectstatic", "--noinput", "--clear", "--verbosity", "0", environment=HASHED)
    supervisor.add(web(port))
    deadline = time.monotonic() + WEB_START_SECONDS
    supervisor.watch(until=lambda: _is_serving(port) or time.monotonic() > deadline)
    if not _is_serving(port):
        raise ServiceError(f"The web process does not answer. See {supervisor.logs / 'web.log'}.")
    print_now(f"serving on http://127.0.0.1:{port} — Ctrl-C stops; logs are in {supervisor.logs}")
    supervisor.watch(until=lambda: False)


def require_free_port(port: int) -> None:
    """Raise ServiceError if the port is taken, with the listener's name."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            holder = find_listener(port)
            by = f" by {holder}" if holder else ""
            raise ServiceError(
                f"Port {port} cannot be used ({error.strerror}){by}. Stop that process, or choose"
                f" another port: PORT={port + 1}."
            ) from None


def web(port: int) -> Child:
    """The web process."""
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--config",
        "python:config.gunicorn",
        "config.wsgi",
    ]
    return Child("web", command, {"PORT": str(port), **HASHED})


def worker() -> Child:
    """Return one worker on every queue.

    Larger installations run one worker a queue (docker/compose.yaml).
    """
    env = Env()
    concurrency = env.integer("WORKER_CONCURRENCY", min(4, os.cpu_count() or 1), minimum=1)
    pool = env.text("WORKER_POOL", "prefork")
    options = [
        "--queues",
        QUEUES,
        "--pool",
        pool,
        "--concurrency",
        str(concurrency),
        "--without-gossip",
        "--without-mingle",
    ]
    # Each of the worker's processes embeds with its share of the cores.
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, (os.cpu_count() or 1) // concurrency))
    return make_worker(options, {"OMP_NUM_THREADS": threads})


def beat() -> Child:
    """The scheduler of the sweeper."""
    return Child("beat", [sys.executable, "-m", "celery", "--app", "config", "beat", "--pidfile="])


def _is_serving(port: int) -> bool:
    """Return True if a page is served.

    The port alone is open before the application is loaded.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/sign-in/")
        return connection.getresponse().status < http.client.INTERNAL_SERVER_ERROR
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
