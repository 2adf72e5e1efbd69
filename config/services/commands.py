"""Run `manage.py` from the launchers, with its output on the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from config.env import BASE_DIR, environment
from config.services.embedded import find_required_services
from config.services.errors import ServiceError


def command(*arguments: str) -> list[str]:
    """Return the command line of a command of ours."""
    return [sys.executable, str(BASE_DIR / "manage.py"), *arguments]


def manage(*arguments: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a command to its end, with these variables added.

    Raises ServiceError if it fails.
    """
    ended = subprocess.run(
        command(*arguments), cwd=BASE_DIR, env={**os.environ, **(environment or {})}, check=False
    )
    if ended.returncode != 0:
        raise ServiceError(
            f"`manage.py {' '.join(arguments)}` failed; its own words are above. Nothing is served."
        )


def require_migrated_database() -> None:
    """Bring the embedded database up to date.

    An external database may be in use by others: if it is not up to date, ServiceError is raised.
    """
    if "postgres" in find_required_services(environment()):
        manage("migrate", "--verbosity", "0")
    elif (
        subprocess.run(
            command("migrate", "--check", "--verbosity", "0"), cwd=BASE_DIR, check=False
        ).returncode
        != 0
    ):
        raise ServiceError(
            "The database is not up to date, or does not answer. Run `manage.py migrate`, then"
            " start again."
        )
