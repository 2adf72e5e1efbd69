"""A migrated PostgreSQL of a benchmark's own, gone afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_database() -> Iterator[None]:
    """Start a database, set Django up on it, then stop and delete it.

    Enter it once in a process, before any model is imported.
    """
    from config.services import embedded
    from config.services.paths import ServicePaths

    folder = Path(tempfile.mkdtemp(prefix="occurrent-bench-"))
    paths = ServicePaths(folder / "var")
    os.environ |= {
        "OCCURRENT_VAR": str(paths.var),
        "OCCURRENT_ENV": "embedded",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    for name in ("DATABASE_URL", "BROKER_URL"):
        os.environ.pop(name, None)
    try:
        embedded.ensure_running(paths)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield
    finally:
        embedded.stop(paths)
        for directory in {paths.state, paths.sockets, folder}:
            shutil.rmtree(directory, ignore_errors=True)
