"""Installations between which a backup travels: start, compare, destroy."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import sql

from config.services import embedded
from config.services.paths import SUPERUSER_ROLE, ServicePaths
from config.services.processes import find_processes, wait_until

_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1
"""
#: A restore changes them: interrupted jobs wait again, their fences jump, and counts follow.
_JOBS = """
SELECT DISTINCT table_name FROM information_schema.columns
WHERE table_schema = 'public' AND (column_name = 'fence' OR table_name LIKE '%count' OR table_name = 'timelines_caserun')
"""
_DIGEST = """
SELECT count(*), md5(string_agg(h, '' ORDER BY h)) FROM (SELECT md5(t::text) AS h FROM {} t {}) x
"""
#: The trail goes on after a backup and with the restore.
_TRAIL = {
    "accounts_auditevent": "WHERE id <= {}",
    "accounts_auditlink": "WHERE sequence <= {}",
}


def start_quickly(paths: ServicePaths) -> None:
    """Start an installation whose database may lose what it wrote last."""
    embedded.ensure_running(paths)
    with psycopg.connect(paths.build_database_url(SUPERUSER_ROLE), autocommit=True) as superuser:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            superuser.execute(f"ALTER SYSTEM SET {name} = off")
        superuser.execute("SELECT pg_reload_conf()")


def destroy_database(paths: ServicePaths) -> None:
    """Kill every process of the server and delete its data."""
    for server in find_processes(paths.postgres_data):
        with suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGKILL)
    assert wait_until(lambda: not find_processes(paths.postgres_data), seconds=60)
    shutil.rmtree(paths.postgres_data)


def digest_tables(url: str, events: int) -> Mapping[str, tuple[Any, ...]]:
    """Return the number of rows of each table, and a digest of them.

    Of the audit trail, the first `events` count. Tables of jobs are left out.
    """
    with psycopg.connect(url, options="-c timezone=UTC") as connection:
        jobs = {name for (name,) in connection.execute(_JOBS)}
        found: dict[str, tuple[Any, ...]] = {}
        for (name,) in connection.execute(_TABLES).fetchall():
            if name not in jobs:
                part = sql.SQL(_TRAIL.get(name, "")).format(sql.Literal(events))
                query = sql.SQL(_DIGEST).format(sql.Identifier(name), part)
                [found[name]] = connection.execute(query).fetchall()
        return found
