"""Databases from before the migrations were replaced by one of each app."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.exceptions import NodeNotFoundError
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

pytestmark = pytest.mark.django_db
APPS = ("accounts", "llm_runtime", "ehr", "timelines", "adjudication")


def test_the_models_need_no_further_migration():
    call_command("makemigrations", "--check", "--verbosity", "0")


def test_a_database_with_all_replaced_migrations_is_up_to_date():
    for app in APPS:
        MigrationRecorder(connection).record_unapplied(app, "0001_schema")
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


@pytest.mark.parametrize("app", APPS)
@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
def test_a_database_that_lacks_a_replaced_migration_is_refused(app, place):
    replaced = MigrationLoader(connection).replacements[app, "0001_schema"].replaces
    MigrationRecorder(connection).record_unapplied(*replaced[place])
    with pytest.raises(NodeNotFoundError, match=f"any of .{app}.0001_schema. but"):
        MigrationLoader(connection)
