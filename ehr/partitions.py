"""The partitions of the source rows: one per dataset, divided by hash of the encounter; made on demand, dropped with the dataset."""

from __future__ import annotations

from typing import Any, LiteralString

from django.db import connection, transaction
from psycopg import sql

HASH_PARTITIONS = 4
TABLE = "ehr_sourcerow"


def partition_name(dataset_id: int) -> str:
    """The table that holds the rows of one dataset."""
    return f"{TABLE}_d{dataset_id}"


def partition_exists(dataset_id: int) -> bool:
    """True where the dataset can take rows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [partition_name(dataset_id)])
        return bool(cursor.fetchone()[0])


def ensure_partition(dataset_id: int) -> bool:
    """Make the dataset's partition where it is missing; True where this call made it. Two callers at once take turns."""
    if partition_exists(dataset_id):
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s), %s)", [TABLE, dataset_id])
        if partition_exists(dataset_id):
            return False
        cursor.execute(
            _composed("CREATE TABLE {part} PARTITION OF {table} FOR VALUES IN ({id}) PARTITION BY HASH (encounter_id)", dataset_id)
        )
        for remainder in range(HASH_PARTITIONS):
            leaf = sql.SQL("CREATE TABLE {leaf} PARTITION OF {part} FOR VALUES WITH (MODULUS {modulus}, REMAINDER {remainder})").format(
                leaf=sql.Identifier(f"{partition_name(dataset_id)}_{remainder}"),
                part=sql.Identifier(partition_name(dataset_id)),
                modulus=sql.Literal(HASH_PARTITIONS),
                remainder=sql.Literal(remainder),
            )
            cursor.execute(leaf)
    return True


def drop_partition(dataset_id: int) -> bool:
    """Drop the dataset's partition with all its rows; False where it has none. What refers to rows must be gone by then."""
    if not partition_exists(dataset_id):
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        # Checks that wait for the commit would forbid changing the table.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(_composed("ALTER TABLE {table} DETACH PARTITION {part}", dataset_id))
        cursor.execute(_composed("DROP TABLE {part}", dataset_id))
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    return True


def drop_with_dataset(sender: Any, instance: Any, **_: Any) -> None:
    """Signal receiver: a deleted dataset takes its partition along (connected in `EhrConfig.ready`)."""
    drop_partition(instance.pk)


def _composed(statement: LiteralString, dataset_id: int) -> sql.Composed:
    return sql.SQL(statement).format(
        table=sql.Identifier(TABLE), part=sql.Identifier(partition_name(dataset_id)), id=sql.Literal(dataset_id)
    )
