"""The database that is restored into: is it free, and how to empty it."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import connection
from psycopg import sql

from config.backups.errors import BackupError
from config.backups.files import find_files
from config.services.processes import wait_until
from config.services.roles import FUNCTIONS, OURS
from config.settings import database_settings

#: An installation in use has rows in one of them. Migrations fill none of them.
IN_USE = ("accounts_user", "accounts_study", "accounts_auditevent")
#: Ended processes' connections are closed by the server a moment later.
PATIENCE_SECONDS = 5.0
#: Leaves before their parents: each statement needs few locks, however many partitions there are.
RELATIONS = f"""
    SELECT relname, relkind {OURS} AND relkind IN ('r', 'p', 'v', 'S')
    ORDER BY relkind = 'S', relkind <> 'v', NOT relispartition, relkind = 'p', relname
"""
ROUTINES = """
    SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
"""
OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = ANY (%s)
"""


def check_target(*, replace: bool) -> None:
    """Raise BackupError if something is here, or uses the database.

    `replace` allows the first.
    """
    if not replace and (found := find_content()):
        raise BackupError(
            f"This installation is not empty: {found}. Back it up first if you need it, then add"
            " --replace-everything."
        )
    if not wait_until(lambda: not _count_other_connections(), seconds=PATIENCE_SECONDS):
        raise BackupError(
            f"{_count_other_connections()} other connections use the database. Stop the web"
            " processes, workers and schedulers of every machine, then restore again."
        )


def find_content() -> str:
    """Say what an installation in use has; "" for an empty one."""
    tables = set(connection.introspection.table_names())
    words = []
    with connection.cursor() as cursor:
        for table in IN_USE:
            if table in tables:
                cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
                (count,) = cursor.fetchone()
                words += [f"{count:,} rows in {table}"] if count else []
    count = len(find_files(Path(settings.MEDIA_ROOT)))
    return ", ".join([*words, *([f"{count:,} files in {settings.MEDIA_ROOT}"] if count else [])])


def drop_everything() -> None:
    """Drop our tables, views, sequences and functions, as their owner.

    Extensions stay. Each statement commits by itself.
    """
    kinds = {"v": sql.SQL("VIEW"), "S": sql.SQL("SEQUENCE")}
    with connection.cursor() as cursor:
        cursor.execute(RELATIONS)
        for name, kind in cursor.fetchall():
            statement = sql.SQL("DROP {} IF EXISTS {} CASCADE")
            cursor.execute(
                statement.format(kinds.get(kind, sql.SQL("TABLE")), sql.Identifier(name))
            )
        cursor.execute(ROUTINES)
        for (signature,) in cursor.fetchall():
            cursor.execute(sql.SQL("DROP ROUTINE {} CASCADE").format(sql.SQL(signature)))


def close_functions() -> None:
    """Let nobody but the owner call functions that have the owner's rights.

    A restore leaves out all grants, because roles have other names elsewhere.
    """
    with connection.cursor() as cursor:
        cursor.execute(FUNCTIONS)
        for (signature,) in cursor.fetchall():
            statement = sql.SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC")
            cursor.execute(statement.format(sql.SQL(signature)))


def _count_other_connections() -> int:
    urls = (settings.DATABASE_URL, settings.DATABASE_OWNER_URL)
    roles = [database_settings(url)["USER"] for url in urls]
    with connection.cursor() as cursor:
        cursor.execute(OTHERS, [roles])
        return int(cursor.fetchone()[0])
