#!/usr/bin/env python
"""Django's command line for this project.

It starts the embedded services before any command that needs them.
"""

from __future__ import annotations

import os
import sys

from config.env import EnvError
from config.releases.version import read_version
from config.services.errors import ServiceError

WITHOUT_SERVICES = frozenset(
    {
        "check",
        "check_backup",
        "collectstatic",
        "create_backup_key",
        "diffsettings",
        "findstatic",
        "help",
        "release_check",
        "spectacular",
    }
)


def main(arguments: list[str]) -> None:
    """Run a command; print a faulty setting or service in one line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if arguments[1:] in (["version"], ["--version"]):
        print(f"Occurrent {read_version()}")
        return
    from django.core.management import execute_from_command_line

    try:
        if needs_services(arguments):
            from config.services.embedded import ensure_environment
            from config.services.paths import default_paths

            ensure_environment(default_paths())
        execute_from_command_line(arguments)
    except (EnvError, ServiceError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except Exception as error:
        if not lacks_connection(error):
            raise
        sys.exit(
            "The database does not answer, or refuses the role. Check that it runs, DATABASE_URL,"
            " and DATABASE_OWNER_URL if it is set."
        )


def needs_services(arguments: list[str]) -> bool:
    """True for the commands that talk to the database or the broker."""
    command = arguments[1] if len(arguments) > 1 else "help"
    return not (command in WITHOUT_SERVICES or command.startswith("-") or "--help" in arguments)


def lacks_connection(error: Exception) -> bool:
    """Return True if the database could not be reached.

    Errors of a query return False.
    """
    from django.db import OperationalError
    from psycopg import OperationalError as Cause

    cause = error.__cause__
    return (
        isinstance(error, OperationalError) and isinstance(cause, Cause) and cause.sqlstate is None
    )


if __name__ == "__main__":
    main(sys.argv)
