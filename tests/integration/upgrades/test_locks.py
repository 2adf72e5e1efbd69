"""Migrations keep nobody waiting, and what runs beside them goes on.

Each migration after the oldest database in tests/data/upgrades is read. A dangerous statement needs
a reason here.
"""

from __future__ import annotations

import threading
import time
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate as django_migrate
from django.db import OperationalError, connection, transaction
from django.db.migrations import RunPython
from django.db.migrations.loader import MigrationLoader

from accounts.models import Study
from config.management.commands import migrate
from tests import factories
from tests.support.migration_sql import LARGE, Danger, find_created, find_dangers, split_statements
from tests.worlds.upgraded import FIXTURES, find_applied, read_dump

STOPPED = "part of 0.2.0, which is installed while nothing else runs (docs/upgrades.md)"
#: Why a migration may contain each of its dangerous statements.
EXCEPTIONS = {
    ("adjudication", "0003_judging_at_scale"): STOPPED,
    ("adjudication", "0004_guess_test_of_packets"): STOPPED,
    ("adjudication", "0007_searches_notes_practice"): STOPPED,
    ("timelines", "0006_protocol_of_references"): STOPPED,
}
OLDEST = FIXTURES / "0.1.0.sql.xz"
OURS = ("accounts", "jobs", "llm_runtime", "ehr", "timelines", "adjudication", "cohorts")


def read_migrations() -> dict[tuple[str, str], list[str]]:
    """Return the statements of each later migration, in order."""
    applied = find_applied(read_dump(OLDEST))
    loader = MigrationLoader(connection)
    plan = [node for leaf in loader.graph.leaf_nodes() for node in loader.graph.forwards_plan(leaf)]
    later = [node for node in dict.fromkeys(plan) if node not in applied and node[0] in OURS]
    # The state goes on from one to the next: building it takes seconds.
    state = loader.project_state([node for node in loader.graph.nodes if node not in later])
    found = {}
    for node in later:
        migration = loader.graph.nodes[node]
        with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
            state = migration.apply(state, editor, collect_sql=True)
        blind = [op for op in migration.operations if isinstance(op, RunPython)]
        found[node] = [*split_statements(editor.collected_sql), *["DO code" for _ in blind]]
    return found


@pytest.mark.long
@pytest.mark.django_db(transaction=True)  # indexes are built outside transactions
def test_no_migration_locks_a_large_table_or_breaks_running_code():
    migrations = read_migrations()
    new = {table for lines in migrations.values() for table in find_created(lines)}
    dangers = {node: find_dangers(lines, new) for node, lines in migrations.items()}
    dangerous = {node: found for node, found in dangers.items() if found}
    assert len(migrations) > 15
    assert {node: found for node, found in dangerous.items() if node not in EXCEPTIONS} == {}
    assert set(EXCEPTIONS) - set(dangerous) == set()


@pytest.mark.django_db
def test_large_tables_exist():
    assert LARGE - set(connection.introspection.table_names()) - {"ehr_sourcerow"} == set()


def test_a_later_danger_is_seen():
    line = 'ALTER TABLE "timelines_entry" ALTER COLUMN "time" TYPE numeric'
    assert find_dangers([line], set()) == {Danger("timelines_entry", "rewrites it")}


@pytest.fixture
def busy(transactional_db, services, monkeypatch):
    """A long transaction reads studies; a migration changes their table."""
    database = connection.settings_dict
    reader = psycopg.connect(host=database["HOST"], user=database["USER"], dbname=database["NAME"])
    reader.execute("SELECT count(*) FROM accounts_study")

    def change(self, *args, **options):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE accounts_study ADD COLUMN tried integer NULL")
            cursor.execute("ALTER TABLE accounts_study DROP COLUMN tried")

    monkeypatch.setattr(django_migrate.Command, "handle", change)
    yield reader
    reader.close()


def test_a_busy_table_delays_the_migration_and_not_the_users(busy, monkeypatch):
    factories.make_study()
    pauses = []

    def pause(seconds: float) -> None:
        # Between two attempts everybody reads on; then the long transaction ends.
        pauses.append(seconds)
        assert Study.objects.count() == 1
        if len(pauses) == 2:
            busy.rollback()

    monkeypatch.setattr(migrate.time, "sleep", pause)
    out = StringIO()
    call_command("migrate", verbosity=0, stdout=out)
    assert pauses == [1.0, 2.0]
    assert out.getvalue().count("A table is in use. Trying again in") == 2
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_reader_waits_no_longer_than_a_second_behind_a_migration(busy, monkeypatch):
    monkeypatch.setattr(migrate, "ATTEMPTS", 1)
    migrating = threading.Thread(target=_migrate_and_close)
    migrating.start()
    time.sleep(0.3)
    started = time.monotonic()
    assert Study.objects.count() == 0
    waited = time.monotonic() - started
    migrating.join()
    assert waited < 2


def test_a_table_that_is_always_busy_ends_with_the_fix(busy, monkeypatch):
    monkeypatch.setattr(migrate.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(migrate, "ATTEMPTS", 2)
    with pytest.raises(CommandError, match="A table was in use at every attempt"):
        call_command("migrate", verbosity=0, stdout=StringIO())


def test_another_error_of_the_database_is_not_tried_again(transactional_db, monkeypatch):
    def fail(self, *args, **options):
        raise OperationalError("the disk is full")

    monkeypatch.setattr(django_migrate.Command, "handle", fail)
    with pytest.raises(OperationalError, match="the disk is full"):
        call_command("migrate", verbosity=0, stdout=StringIO())


def _migrate_and_close() -> None:
    try:
        with pytest.raises(CommandError):
            call_command("migrate", verbosity=0, stdout=StringIO())
    finally:
        connection.close()
