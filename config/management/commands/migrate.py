"""`manage.py migrate`: Django's command, run as the owner of the tables.

Afterwards it lets the application's role use the tables.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connection

from config.database_roles import RoleError, connect_as_owner, prepare_application_role


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
