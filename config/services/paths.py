"""Paths of the embedded services' data, sockets and locks.

Everything lives under `var/` of the checkout. Two exceptions, both per checkout and both outside
it: PostgreSQL refuses to run as root, so a root user starts it as `nobody`, whose data goes to a
directory of its own where `nobody` cannot reach the checkout; and a unix socket's path is limited
to about 100 characters, so deep checkouts keep their sockets under the system's temporary
directory.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from config.env import BASE_DIR, environment

MAX_SOCKET_PATH = 100
LONGEST_SOCKET_NAME = len("/.s.PGSQL.5432.lock")
ROOT_STATE = Path("/var/lib/occurrent")
SERVICE_USER = "nobody"
DATABASE = "occurrent"
#: Starts the cluster. Data directories of earlier versions have it by this name, and PostgreSQL
#: refuses to demote its first role.
SUPERUSER_ROLE = "occurrent"
#: Owns the database and its tables; `migrate` runs as this role.
OWNER_ROLE = "occurrent_owner"
#: Reads and writes rows; pages, workers and commands run as this role.
APPLICATION_ROLE = "occurrent_app"


@dataclass(frozen=True)
class ServicePaths:
    """The directories of one set of services.

    `var` is the directory given to it (default: the checkout's `var/`).
    """

    var: Path

    @cached_property
    def tag(self) -> str:
        """A short name for this set of services, from its location."""
        return hashlib.sha256(str(self.var).encode()).hexdigest()[:12]

    @cached_property
    def drops_privileges(self) -> bool:
        """Return True if the servers must run as another user: the caller is root."""
        return os.geteuid() == 0

    @cached_property
    def state(self) -> Path:
        """Return the directory that the service user can reach.

        That is `var`, or a directory outside the checkout.
        """
        if not self.drops_privileges or _others_can_traverse(self.var.parent):
            return self.var
        return ROOT_STATE / self.tag

    @cached_property
    def sockets(self) -> Path:
        """The directory of the unix sockets, short enough for every one of them."""
        wanted = self.state / "run"
        if len(str(wanted)) + LONGEST_SOCKET_NAME <= MAX_SOCKET_PATH:
            return wanted
        return Path(tempfile.gettempdir()) / f"occurrent-{os.geteuid()}-{self.tag}"

    @property
    def postgres_data(self) -> Path:
        return self.state / "postgres"

    @property
    def broker_data(self) -> Path:
        return self.state / "broker"

    @property
    def logs(self) -> Path:
        return self.state / "log"

    @property
    def locks(self) -> Path:
        return self.var / "lock"

    @property
    def database_url(self) -> str:
        """The address of the embedded database for the application."""
        return self.build_database_url(APPLICATION_ROLE)

    @property
    def database_owner_url(self) -> str:
        """The address of the embedded database for migrations."""
        return self.build_database_url(OWNER_ROLE)

    def build_database_url(self, role: str, database: str = DATABASE) -> str:
        """Return the address of an embedded database for `role`.

        It has psycopg's own form; the socket directory is percent-encoded.
        """
        return f"postgresql://{role}@{str(self.sockets).replace('/', '%2F')}/{database}"

    @property
    def broker_url(self) -> str:
        """The address of the embedded broker, as kombu and redis-py both read it."""
        return f"redis+socket://{self.sockets}/broker.sock"


def default_paths() -> ServicePaths:
    """Return the services of this checkout; `OCCURRENT_VAR` moves them."""
    return ServicePaths(Path(environment().get("OCCURRENT_VAR") or BASE_DIR / "var").absolute())


def service_user() -> pwd.struct_passwd:
    """The user the servers run as when the caller is root."""
    return pwd.getpwnam(SERVICE_USER)


def _others_can_traverse(directory: Path) -> bool:
    """True where any user may walk down to `directory`."""
    return all(
        part.stat().st_mode & 0o001 for part in (directory, *directory.parents) if part.exists()
    )
