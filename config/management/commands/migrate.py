"""`manage.py migrate`: Django's command, run as the owner of the tables.

It never keeps the users waiting for a lock: it gives up after a second and tries again later.
Afterwards it lets the application's role use the tables.
"""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

from config.database_roles import RoleError, connect_as_owner, prepare_application_role

#: How long a statement waits for a lock. Later statements wait behind it.
LOCK_MILLISECONDS = 1000
#: After that everything goes on, and the migration is tried again after this many seconds, twice
#: as many each time up to the longest: a quarter of an hour in all.
FIRST_PAUSE, LONGEST_PAUSE, ATTEMPTS = 1.0, 30.0, 34


class Command(migrate.Command):
    """Django's command with our two roles around it."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Check and migrate, then grant the application's role what it needs."""
        with connect_as_owner():
            output = super().execute(*args, **options)
            if not (options["plan"] or options["check_unapplied"]):
                try:
                    prepare_application_role(connection)
                except RoleError as error:
                    raise CommandError(str(error)) from None
        return output

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate; try again while others use a table that a migration changes.

        A migration whose lock is not free is undone, and those before it stay applied. Raises
        CommandError after the last attempt.
        """
        pause = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            try:
                _set_lock_timeout(str(LOCK_MILLISECONDS))
                super().handle(*args, **options)
                return
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
            finally:
                _set_lock_timeout("0")
            if attempt < ATTEMPTS:
                self.stdout.write(f"\nA table is in use. Trying again in {pause:.0f} s.")
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        raise CommandError(
            "A table was in use at every attempt. Migrations before it are applied. Find the long"
            " transaction (SELECT pid, xact_start, state FROM pg_stat_activity ORDER BY 2), let it"
            " end, and migrate again."
        )


def _set_lock_timeout(milliseconds: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [milliseconds])
