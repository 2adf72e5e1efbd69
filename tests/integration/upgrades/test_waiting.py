"""Measure how long others wait for large tables during an upgrade."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from config.services.paths import OWNER_ROLE
from tests.worlds.upgraded import DATABASE, RELEASES, connect_to_release

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]
ROWS = 300_000
LONGEST_WAIT = 1.0
#: Tables with jobs, which migrations change most often, and with results.
TABLES = (
    "timelines_stagerun",
    "timelines_entry",
    "timelines_occurrence",
    "adjudication_game",
    "adjudication_finding",
)


def multiply_rows(table: str) -> None:
    """Copy the table's rows until it has ROWS; drop what makes them unique."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid::regclass::text, conname FROM pg_index"
            " LEFT JOIN pg_constraint ON conindid = indexrelid AND contype = 'u'"
            " WHERE indrelid = %s::regclass AND indisunique AND NOT indisprimary",
            [table],
        )
        for index, constraint in cursor.fetchall():
            cursor.execute(
                f'ALTER TABLE {table} DROP CONSTRAINT "{constraint}"'
                if constraint
                else f"DROP INDEX {index}"
            )
        cursor.execute(
            "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns"
            " WHERE table_name = %s AND is_generated = 'NEVER' AND column_name <> 'id'",
            [table],
        )
        (columns,) = cursor.fetchone()
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table},"
            f" generate_series(1, {ROWS} / (SELECT count(*) FROM {table}) + 1)"
        )
        cursor.execute("RESET session_replication_role")


@contextmanager
def measure_waits(address: dict[str, Any]) -> Iterator[dict[str, float]]:
    """Ask each table for a row lock again and again; note the longest wait."""
    longest = dict.fromkeys(TABLES, 0.0)
    done = threading.Event()

    def ask(table: str) -> None:
        query = sql.SQL("SELECT 1 FROM {} LIMIT 1 FOR UPDATE").format(sql.Identifier(table))
        with psycopg.connect(**address, autocommit=True) as other:
            while not done.is_set():
                started = time.monotonic()
                other.execute(query)
                longest[table] = max(longest[table], time.monotonic() - started)
                time.sleep(0.005)

    threads = [threading.Thread(target=ask, args=(table,)) for table in TABLES]
    for thread in threads:
        thread.start()
    try:
        yield longest
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_nobody_waits_longer_than_a_second_for_a_large_table():
    with connect_to_release(RELEASES[-1]):
        for table in TABLES:
            multiply_rows(table)
        address: dict[str, Any] = {
            "host": str(connection.settings_dict["HOST"]),
            "user": OWNER_ROLE,
        }
        with measure_waits({**address, "dbname": DATABASE}) as waits:
            call_command("migrate", verbosity=0, stdout=StringIO())
    print(waits)
    assert max(waits.values()) < LONGEST_WAIT
