"""Whether this installation can work: database, migrations, broker, disk.

Each check runs in a thread of its own and has a few seconds, so that a server which hangs does not
make the answer hang. A check that still runs is not started a second time.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import psycopg
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from jobs.health.broker import open_broker

logger = logging.getLogger(__name__)

#: Seconds that all checks together may take.
PATIENCE = 2.5
#: For so long the same answer is given again: anybody may ask, as often as they like.
REUSED_SECONDS = 2.0


class NotReady(RuntimeError):
    """Something that the installation needs is missing."""

    log_safe = True


def check_database() -> None:
    """Ask the database for one row. Raises psycopg.Error."""
    with connect() as database:
        database.execute("SELECT 1")


def check_migrations() -> None:
    """Raise NotReady if a migration of this version is not applied."""
    with connect() as database:
        applied = set(database.execute("SELECT app, name FROM django_migrations").fetchall())
    if missing := known_migrations() - applied:
        raise NotReady(f"{len(missing)} migrations are missing; run manage.py migrate")


def check_broker() -> None:
    """Raise an error of the broker's client if the broker does not answer."""
    with open_broker():
        pass


def check_disk() -> None:
    """Raise NotReady if the disk of the files is almost full."""
    if shutil.disk_usage(find_files_folder()).free < settings.FREE_DISK_BYTES:
        raise NotReady("less than FREE_DISK_BYTES is free on the disk of the files")


CHECKS: Mapping[str, Callable[[], None]] = {
    "database": check_database,
    "migrations": check_migrations,
    "broker": check_broker,
    "disk": check_disk,
}


def connect() -> psycopg.Connection:
    """Open a connection apart from the pool, which waits longer."""
    parameters = dict(connection.get_connection_params())
    for name in ("context", "cursor_factory"):
        parameters.pop(name, None)
    options = f"{parameters.pop('options', '')} -c statement_timeout=2000".strip()
    parameters |= {"connect_timeout": 2, "options": options}
    return psycopg.connect(**parameters, autocommit=True)


def find_files_folder() -> Path:
    """Return the folder of uploads and exports, or the nearest that exists."""
    folder = Path(settings.MEDIA_ROOT)
    return next(place for place in (folder, *folder.parents) if place.exists())


@lru_cache(maxsize=1)
def known_migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations of this version, as (app, name)."""
    return frozenset(MigrationLoader(None).disk_migrations)


class Checker:
    """Runs all checks at once and remembers the answer for a moment."""

    def __init__(self, checks: Mapping[str, Callable[[], None]]) -> None:
        self._checks = checks
        self._asking = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._failing: set[str] = set()
        self._answer: dict[str, bool] = {}
        self._until = 0.0

    def run(self) -> dict[str, bool]:
        """Return which checks passed, by name."""
        with self._asking:
            if time.monotonic() >= self._until:
                self._answer = self._run()
                self._until = time.monotonic() + REUSED_SECONDS
            return self._answer

    def _run(self) -> dict[str, bool]:
        passed: dict[str, bool] = dict.fromkeys(self._checks, False)
        late = {name for name, thread in self._threads.items() if thread.is_alive()}
        for name in self._checks.keys() - late:
            self._threads[name] = threading.Thread(
                target=self._check, args=(name, passed), name=f"check-{name}", daemon=True
            )
            self._threads[name].start()
        deadline = time.monotonic() + PATIENCE
        for name in self._checks:
            self._threads[name].join(max(0.0, deadline - time.monotonic()))
        return dict(passed)

    def _check(self, name: str, passed: dict[str, bool]) -> None:
        try:
            self._checks[name]()
            passed[name] = True
            self._failing.discard(name)
        except Exception:  # any error means no, and the log says more, once
            if name not in self._failing:
                logger.warning("the check of the %s failed", name, exc_info=True)
            self._failing.add(name)


checker = Checker(CHECKS)
