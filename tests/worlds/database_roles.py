"""Run as the application's database role, or commands as chosen roles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from config.database_roles import set_connection
from config.env import BASE_DIR
from config.services.paths import ServicePaths
from config.settings import database_settings


@contextmanager
def connect_as_application() -> Iterator[None]:
    """Connect to the test database as pages and workers do.

    It needs a test that commits.
    """
    before = connection.settings_dict
    set_connection({**before, "USER": database_settings(settings.DATABASE_URL)["USER"]})
    try:
        yield
    finally:
        set_connection(before)


def manage(
    paths: ServicePaths, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of a separate installation; return its output."""
    environment = {
        **os.environ,
        "OCCURRENT_VAR": str(paths.var),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        **variables,
    }
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=BASE_DIR, env=environment, check=False, capture_output=True, text=True
    )
