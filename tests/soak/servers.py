"""A PostgreSQL and a Valkey on TCP ports, with passwords."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import redis

from config.services import broker, postgres, privileges
from config.services.paths import APPLICATION_ROLE, DATABASE, ServicePaths
from config.services.processes import wait_until

START_SECONDS = 60.0
#: Of docker/compose.yaml, and shorter: locks of a machine that is gone end soon.
KEEPALIVE = {
    "tcp_keepalives_idle": "3",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
}


def find_free_port(address: str) -> int:
    """Return a port of that address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


class Servers:
    """Both servers of one soak, as an administrator would set them up."""

    def __init__(self, folder: Path, address: str) -> None:
        self.paths = ServicePaths(folder / "servers")
        self.address = address
        self.password = secrets.token_hex(16)
        self.database_port, self.broker_port = find_free_port(address), find_free_port(address)
        self._broker: subprocess.Popen[bytes] | None = None
        self._postgres: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Return the addresses for the application."""
        host = f"{self.address}:{self.database_port}/{DATABASE}"
        return {
            "DATABASE_URL": f"postgresql://{APPLICATION_ROLE}:{self.password}@{host}",
            "DATABASE_OWNER_URL": f"postgresql://occurrent:{self.password}@{host}",
            "BROKER_URL": f"redis://:{self.password}@{self.address}:{self.broker_port}/0",
        }

    def start(self) -> None:
        """Create the database and start both servers."""
        for folder in (self.paths.state, self.paths.logs, self.paths.broker_data):
            privileges.private_directory(self.paths, folder)
        self._create_database()
        self.start_postgres()
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        self.start_broker()

    def start_postgres(self) -> None:
        """Start PostgreSQL on its TCP port alone."""
        options = postgres.server_options(self.paths) | {
            "listen_addresses": self.address,
            "port": str(self.database_port),
            "unix_socket_directories": "",
            **KEEPALIVE,
        }
        data = self.paths.postgres_data
        command = [str(postgres.binaries(self.paths) / "postgres"), "-D", str(data)]
        command += [f"--{name}={value}" for name, value in options.items()]
        self._postgres = privileges.spawn(
            self.paths, command, cwd=data, log=self.paths.logs / "start.log"
        )
        assert wait_until(self._has_database, seconds=START_SECONDS), "PostgreSQL does not answer"

    def start_broker(self) -> None:
        """Start Valkey on its TCP port alone."""
        options = broker.OPTIONS | {
            "port": str(self.broker_port),
            "bind": self.address,
            "requirepass": self.password,
            "dir": str(self.paths.broker_data),
        }
        command = [str(broker.binary(self.paths))]
        command += [word for name, value in options.items() for word in (f"--{name}", value)]
        self._broker = privileges.spawn(
            self.paths, command, cwd=self.paths.broker_data, log=self.paths.logs / "broker.log"
        )
        assert wait_until(self._has_broker, seconds=START_SECONDS), "the broker does not answer"

    def kill_broker(self) -> None:
        """Kill the broker, as a machine without power does."""
        assert self._broker is not None
        os.killpg(self._broker.pid, signal.SIGKILL)
        self._broker.wait()

    def kill_postgres(self) -> None:
        """Kill every process of PostgreSQL."""
        assert self._postgres is not None
        os.killpg(self._postgres.pid, signal.SIGQUIT)
        self._postgres.wait()

    def stop(self) -> None:
        """End both."""
        for process in (self._broker, self._postgres):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(START_SECONDS)

    def _create_database(self) -> None:
        data = privileges.private_directory(self.paths, self.paths.postgres_data)
        with tempfile.NamedTemporaryFile("w", suffix=".password") as file:
            file.write(self.password)
            file.flush()
            Path(file.name).chmod(0o644)
            initdb = str(postgres.binaries(self.paths) / "initdb")
            command = [initdb, "-D", str(data), "-U", "occurrent", "-N", "-E", "UTF8", "--locale=C"]
            command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            command += ["--auth=scram-sha-256", f"--pwfile={file.name}"]
            made = privileges.run(self.paths, command, cwd=data)
            assert made.returncode == 0, made.stderr
        with (data / "pg_hba.conf").open("a") as access:
            access.write("host all all 0.0.0.0/0 scram-sha-256\n")

    def _url(self, database: str) -> str:
        host = f"{self.address}:{self.database_port}"
        return f"postgresql://occurrent:{self.password}@{host}/{database}"

    def _has_database(self) -> bool:
        try:
            psycopg.connect(self._url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _has_broker(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.environment["BROKER_URL"]).ping())
        except redis.RedisError:
            return False
