"""PostgreSQL and Valkey as an operator runs them: over TCP.

The servers are the packaged ones, started by hand: nothing of the embedded services' launcher
starts, watches or stops them.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import redis

from config.services import broker, postgres, privileges
from config.services.paths import ServicePaths
from config.services.processes import end, find_processes, wait_until

SUPERUSER = "postgres"
START_SECONDS = 60


@dataclass(frozen=True)
class ExternalServers:
    """The ports of both servers, and the administrator's password."""

    paths: ServicePaths
    postgres_port: int
    broker_port: int
    password: str

    @property
    def programs(self) -> Path:
        """The folder of `psql`, `pg_dump` and the like."""
        return postgres.binaries(self.paths)

    @property
    def administrator(self) -> dict[str, str]:
        """Return libpq's variables for the administrator."""
        return {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.postgres_port),
            "PGUSER": SUPERUSER,
            "PGPASSWORD": self.password,
        }

    @property
    def administrator_url(self) -> str:
        return f"postgresql://{SUPERUSER}:{self.password}@127.0.0.1:{self.postgres_port}/postgres"


@contextmanager
def external_servers(folder: Path) -> Iterator[ExternalServers]:
    """Start both servers with their data below `folder`; end them afterwards."""
    paths = ServicePaths(folder / "servers")
    for directory in (paths.state, paths.logs, paths.postgres_data, paths.broker_data):
        privileges.private_directory(paths, directory)
    servers = ExternalServers(paths, find_port(), find_port(), secrets.token_urlsafe(16))
    try:
        _start_postgres(servers)
        _start_broker(servers)
        yield servers
    finally:
        for data in (paths.broker_data, paths.postgres_data):
            end(_leaders(data), signal=signal.SIGINT, patience=30)
        shutil.rmtree(paths.state, ignore_errors=True)


def find_port() -> int:
    """Return a port of this machine that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _start_postgres(servers: ExternalServers) -> None:
    paths = servers.paths
    password = paths.state / "password"
    password.write_text(servers.password)
    password.chmod(0o644)  # its folder is the servers' own
    made = privileges.run(
        paths,
        [
            str(servers.programs / "initdb"),
            *("-D", str(paths.postgres_data), "-U", SUPERUSER, "-N", "-E", "UTF8"),
            *("--auth=scram-sha-256", f"--pwfile={password}", "--locale=C.UTF-8"),
        ],
        cwd=paths.state,
    )
    assert made.returncode == 0, made.stderr
    command = [
        str(servers.programs / "postgres"),
        *("-D", str(paths.postgres_data), "-p", str(servers.postgres_port)),
        *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="),
        *("-c", "fsync=off", "-c", "dynamic_shared_memory_type=mmap"),
    ]
    _wait(privileges.spawn(paths, command, cwd=paths.state, log=paths.logs / "postgres"), servers)


def _wait(process: subprocess.Popen[bytes], servers: ExternalServers) -> None:
    def answers() -> bool:
        try:
            psycopg.connect(servers.administrator_url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return process.poll() is not None
        return True

    assert wait_until(answers, seconds=START_SECONDS)
    assert process.poll() is None, (servers.paths.logs / "postgres").read_text()


def _start_broker(servers: ExternalServers) -> None:
    paths = servers.paths
    command = [
        str(broker.binary(paths)),
        *("--port", str(servers.broker_port), "--bind", "127.0.0.1"),
        *("--dir", str(paths.broker_data), "--appendonly", "yes"),
    ]
    privileges.spawn(paths, command, cwd=paths.broker_data, log=paths.logs / "broker")

    def answers() -> bool:
        try:
            return bool(redis.Redis(port=servers.broker_port, socket_timeout=5).ping())
        except redis.RedisError:
            return False

    assert wait_until(answers, seconds=START_SECONDS)


def _leaders(data: Path) -> list[psutil.Process]:
    """Return the servers among the processes that work in `data`."""
    found = find_processes(data)
    pids = {process.pid for process in found}
    return [process for process in found if process.ppid() not in pids]
