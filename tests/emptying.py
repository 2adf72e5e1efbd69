"""Empty the test database between tests that commit.

Django's own way truncates every table and fires `post_migrate`: half a second a test. Few tables
have rows after a test, and deleting those takes milliseconds.
"""

from __future__ import annotations

from django.db import connection
from django.db.backends.utils import CursorWrapper

#: The tables that migrations fill. They are never emptied.
MIGRATED = ["auth_group", "auth_permission", "django_content_type", "django_migrations"]
#: Passes foreign keys and the triggers of append-only tables. Tests may do that, the application's
#: role may not.
_EMPTY = """
DO $$
DECLARE
    name text;
    used boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN
        SELECT c.oid::regclass::text FROM pg_class c
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
          AND c.relname <> ALL (string_to_array(current_setting('occurrent_tests.spared'), ','))
          AND pg_relation_size(c.oid) > 0
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', name) INTO used;
        IF used THEN
            EXECUTE format('DELETE FROM %s', name);
        END IF;
    END LOOP;
END $$
"""
_WORN = """
SELECT c.oid::regclass::text FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
  AND c.relname <> ALL (%s) AND pg_relation_size(c.oid) > 1048576
"""


def find_filled_tables() -> list[str]:
    """Return the names of the tables that have rows, in alphabetical order."""
    with connection.cursor() as cursor:
        asked = " UNION ALL ".join(
            f"SELECT '{table}' WHERE EXISTS (SELECT FROM \"{table}\")"
            for table in connection.introspection.table_names(cursor)
        )
        return sorted(table for (table,) in cursor.execute(asked).fetchall())


def empty_database(*, restart_sequences: bool = False) -> None:
    """Delete every row, except what migrations inserted.

    Tables above a megabyte are vacuumed, which gives their space back. `restart_sequences` makes
    the next rows get the same keys as in a new database.
    """
    with connection.cursor() as cursor:
        spared = ",".join(MIGRATED)
        cursor.execute("SELECT set_config('occurrent_tests.spared', %s, false)", [spared])
        cursor.execute(_EMPTY)
        cursor.execute(_WORN, [MIGRATED])
        if worn := [name for (name,) in cursor.fetchall()]:
            cursor.execute(f"VACUUM {', '.join(worn)}")
        if restart_sequences:
            _restart_sequences(cursor)


def _restart_sequences(cursor: CursorWrapper) -> None:
    for sequence in connection.introspection.sequence_list():
        if sequence["table"] not in MIGRATED:
            cursor.execute(f'ALTER SEQUENCE "{sequence["name"]}" RESTART')
