"""The two roles of the database in this process.

The process uses the application's role by default, and the owner's for migrations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import ProgrammingError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from config.services.roles import excess, grant_rows, role_exists
from config.settings import database_settings

SIGN_IN = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")


class RoleError(RuntimeError):
    """The application's role is missing and cannot be created from here."""

    log_safe = True


def roles_are_separate() -> bool:
    """Return True if migrations have a role of their own."""
    return settings.DATABASE_OWNER_URL != settings.DATABASE_URL


@contextmanager
def connect_as_owner() -> Iterator[None]:
    """Connect as the owner of the tables, then restore the connection."""
    before = connection.settings_dict
    owner = database_settings(settings.DATABASE_OWNER_URL)
    if not roles_are_separate() or before["USER"] == owner["USER"]:
        yield
        return
    set_connection({**before, **{name: owner[name] for name in SIGN_IN}})
    try:
        yield
    finally:
        set_connection(before)


def prepare_application_role(database: BaseDatabaseWrapper) -> None:
    """Let the application's role read and write rows, as the owner.

    Raises RoleError if the role is missing and cannot be created.
    """
    if not roles_are_separate():
        return
    role = database_settings(settings.DATABASE_URL)["USER"]
    with transaction.atomic(), database.cursor() as cursor:
        if not role_exists(cursor, role):
            _create(database, role)
        grant_rows(cursor, role)


@register(Tags.database)
def check_application_role(
    app_configs: Sequence[AppConfig] | None = None,
    *,
    databases: Sequence[str] | None = None,
    **_: Any,
) -> list[CheckMessage]:
    """Warn if the application's role may do more than read and write rows."""
    if not databases:
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        # If DATABASE_URL names no role, the application connects with the role of this process.
        role = database_settings(settings.DATABASE_URL)["USER"] or cursor.fetchone()[0]
        found = excess(cursor, role)
    hint = (
        "Give the application a role of its own and set DATABASE_OWNER_URL for migrations"
        " (docs/adr/0035-database-roles.md)."
    )
    return [
        Warning(f"The database role of the application {words}.", hint=hint, id="config.W001")
        for words in found
    ]


def _create(database: BaseDatabaseWrapper, role: str) -> None:
    """Create the application's role with the password of DATABASE_URL.

    The password leaves this process only as its SCRAM hash.
    """
    password = database_settings(settings.DATABASE_URL)["PASSWORD"]
    secret = database.connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    ).decode()
    statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
        sql.Identifier(role), sql.Literal(secret if password else None)
    )
    try:
        with database.cursor() as cursor:
            cursor.execute(statement)
    except ProgrammingError as error:
        raise RoleError(
            f"The role {role} of DATABASE_URL does not exist, and DATABASE_OWNER_URL may not create"
            f" roles. Ask the administrator of the database for: CREATE ROLE {role} LOGIN PASSWORD"
            " '…'. Then migrate again."
        ) from error


def set_connection(sign_in: dict[str, Any]) -> None:
    """Give this process's next connection these settings, as in DATABASES."""
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict = sign_in
