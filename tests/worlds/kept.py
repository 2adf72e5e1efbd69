"""Build a world once a session; afterwards put its rows back.

A world of judged cases and a packet takes up to a second to build through the application's own
actions. Its rows are put back by COPY in milliseconds.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

from django.core.cache import cache
from django.db import connection, transaction

from ehr.models import Dataset
from ehr.partitions import ensure_partition, partition_exists
from tests.emptying import MIGRATED, find_filled_tables

P = ParamSpec("P")
World = TypeVar("World")

_COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = %s AND is_generated = 'NEVER'
"""
_SEQUENCES = "SELECT schemaname || '.' || sequencename, last_value FROM pg_sequences WHERE last_value IS NOT NULL"


@dataclass(frozen=True)
class StoredWorld:
    """A copy of a database that a world was built in.

    It has the rows of every table by the table's name and columns, the datasets with a partition
    for rows, the state of each sequence, and the world's own value.
    """

    rows: dict[str, bytes]
    partitions: tuple[int, ...]
    sequences: dict[str, int]
    world: bytes

    @classmethod
    def capture(cls, world: object) -> StoredWorld:
        """Read the database."""
        with connection.cursor() as cursor:
            rows = {}
            for table in find_filled_tables():
                if table in MIGRATED:
                    continue
                (columns,) = cursor.execute(_COLUMNS, [table]).fetchone()
                # A partitioned table can be copied from only by a query.
                query = f'COPY (SELECT {columns} FROM "{table}") TO STDOUT (FORMAT binary)'
                with cursor.cursor.copy(query) as copy:
                    rows[f'"{table}" ({columns})'] = b"".join(copy)
            cursor.execute(_SEQUENCES)
            sequences = dict(cursor.fetchall())
        datasets = Dataset.objects.values_list("pk", flat=True)
        partitions = tuple(pk for pk in datasets if partition_exists(pk))
        return cls(rows, partitions, sequences, pickle.dumps(world))

    def restore(self) -> object:
        """Fill the empty database, and return an equal world.

        Triggers do not fire.
        """
        # Pages keep what they computed by a row's key, and the keys come again.
        cache.clear()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            for table, rows in self.rows.items():
                if table.startswith('"ehr_sourcerow"'):
                    # A test that deleted a dataset of the same key dropped its partition.
                    for dataset in self.partitions:
                        ensure_partition(dataset)
                with cursor.cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy:
                    copy.write(rows)
            for sequence, last in self.sequences.items():
                cursor.execute("SELECT setval(%s, %s)", [sequence, last])
        return pickle.loads(self.world)


def build_once(build: Callable[P, World]) -> Callable[P, World]:
    """Decorate a function that builds a world in an empty database.

    Its arguments are hashable. It is called if the database is not empty, or if the test rolls its
    transaction back.
    """
    kept: dict[object, StoredWorld] = {}

    @wraps(build)
    def world(*args: P.args, **kwargs: P.kwargs) -> World:
        if connection.in_atomic_block or find_filled_tables() != MIGRATED:
            return build(*args, **kwargs)
        key = (args, tuple(sorted(kwargs.items())))
        if key in kept:
            return kept[key].restore()  # type: ignore[return-value]  # what `build` returned
        made = build(*args, **kwargs)
        kept[key] = StoredWorld.capture(made)
        return made

    return world
