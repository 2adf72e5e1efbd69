"""The two database roles: the owner and the application.

The owner changes tables; the application reads and writes rows. The statements run on any
PostgreSQL. The embedded one creates its roles here; an external one gets them by `manage.py
migrate` or from its administrator. Why two roles: docs/adr/0035-database-roles.md.
"""

from __future__ import annotations

from typing import Any, LiteralString, Protocol

from psycopg import sql

from config.services.paths import APPLICATION_ROLE, DATABASE, OWNER_ROLE

SCHEMA = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
#: The relations of the schema without those of extensions.
OURS = f"""
    FROM pg_class c WHERE relnamespace = {SCHEMA}
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
"""
TABLES = (
    f"SELECT relname {OURS} AND relkind IN ('r', 'p', 'v') AND NOT relispartition AND"
    " pg_has_role(relowner, 'USAGE') ORDER BY 1"
)
SEQUENCES = f"SELECT relname {OURS} AND relkind = 'S' AND pg_has_role(relowner, 'USAGE') ORDER BY 1"
#: Only functions with the owner's rights need a grant; everyone may call the others.
FUNCTIONS = f"""
    SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE pronamespace = {SCHEMA} AND prosecdef AND pg_has_role(proowner, 'USAGE') ORDER BY 1
"""
#: Give the owner what the superuser owns in a data directory of a version with one role. An
#: identity's sequence goes with its table.
ADOPT = f"""
DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        SELECT format('ALTER TABLE %I OWNER TO {OWNER_ROLE}', relname) {OURS}
            AND relkind IN ('r', 'p', 'v') AND pg_get_userbyid(relowner) = current_user
        UNION ALL
        SELECT format('ALTER SEQUENCE %I OWNER TO {OWNER_ROLE}', relname) {OURS}
            AND relkind = 'S' AND pg_get_userbyid(relowner) = current_user
            AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype IN ('a', 'i'))
        UNION ALL
        SELECT format('ALTER FUNCTION %s OWNER TO {OWNER_ROLE}', p.oid::regprocedure) FROM pg_proc p
            WHERE pronamespace = {SCHEMA} AND pg_get_userbyid(proowner) = current_user
            AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
    LOOP
        EXECUTE statement;
    END LOOP;
END $$
"""
EXCESS = f"""
    SELECT 'is a superuser' FROM pg_roles WHERE rolname = %(role)s AND rolsuper
    UNION ALL
    SELECT 'owns its tables' FROM pg_roles r WHERE rolname = %(role)s AND NOT rolsuper AND EXISTS (
        SELECT FROM pg_class WHERE relnamespace = {SCHEMA} AND relkind IN ('r', 'p') AND pg_has_role(r.oid, relowner, 'MEMBER'))
"""


class Cursor(Protocol):
    """psycopg's cursor, or Django's around it."""

    def execute(self, query: Any, params: Any = None, /) -> Any: ...
    def fetchall(self) -> list[Any]: ...


def role_exists(cursor: Cursor, role: str) -> bool:
    """Return True if the cluster has a role of that name."""
    cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
    return bool(cursor.fetchall())


def excess(cursor: Cursor, role: str) -> list[str]:
    """Return the rights that the application's role has but should not have.

    They are in words: "is a superuser", "owns its tables".
    """
    cursor.execute(EXCESS, {"role": role})
    return [words for (words,) in cursor.fetchall()]


def grant_rows(cursor: Cursor, role: str) -> None:
    """Let `role` read and write rows of the current user's tables, no more.

    Repeat it after every change of tables.
    """
    cursor.execute("SELECT current_schema(), current_database()")
    [(schema, database)] = cursor.fetchall()
    names = {
        "role": sql.Identifier(role),
        "schema": sql.Identifier(schema),
        "database": sql.Identifier(database),
    }

    def run(statement: LiteralString, **more: sql.Composable) -> None:
        cursor.execute(sql.SQL(statement).format(**names, **more))

    # A temporary table hides the real one of the same name in triggers' look-ups.
    run("REVOKE CREATE, TEMPORARY ON DATABASE {database} FROM PUBLIC, {role}")
    run("REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, {role}")
    run("GRANT USAGE ON SCHEMA {schema} TO {role}")
    for table in _identifiers(cursor, TABLES):
        run("REVOKE ALL ON {table} FROM {role}", table=table)
        run("GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}", table=table)
    for sequence in _identifiers(cursor, SEQUENCES):
        run("REVOKE ALL ON SEQUENCE {sequence} FROM {role}", sequence=sequence)
        run("GRANT USAGE ON SEQUENCE {sequence} TO {role}", sequence=sequence)
    cursor.execute(FUNCTIONS)
    for (function,) in cursor.fetchall():
        run("GRANT EXECUTE ON FUNCTION {function} TO {role}", function=sql.SQL(function))
    cursor.execute("SELECT to_regclass('django_migrations') IS NOT NULL")
    if cursor.fetchall() == [(True,)]:
        run("REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {role}")


def create_embedded_roles(cursor: Cursor) -> None:
    """Create the embedded roles; give them the superuser's tables.

    Call it in a transaction.
    """
    for role in (OWNER_ROLE, APPLICATION_ROLE):
        if not role_exists(cursor, role):
            cursor.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    cursor.execute(ADOPT)
    cursor.execute(
        sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
            sql.Identifier(DATABASE), sql.Identifier(OWNER_ROLE)
        )
    )
    grant_rows(cursor, APPLICATION_ROLE)


def _identifiers(cursor: Cursor, query: str) -> list[sql.Identifier]:
    """Return the names of the relations that the query lists."""
    cursor.execute(query)
    return [sql.Identifier(name) for (name,) in cursor.fetchall()]
