"""The partitions of the source rows.

There is one for each dataset, divided by hash of the encounter. It is made on demand and dropped
with the dataset. Two functions of the database with the owner's rights
(`ehr/migrations/sql/source_rows.sql`) do the work, so that the application's role needs none.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

TABLE = "ehr_sourcerow"


def partition_name(dataset_id: int) -> str:
    """Return the name of the table with the rows of one dataset."""
    return f"{TABLE}_d{dataset_id}"


def partition_exists(dataset_id: int) -> bool:
    """Return True if the dataset has a partition for rows."""
    return _ask("SELECT to_regclass(%s) IS NOT NULL", partition_name(dataset_id))


def ensure_partition(dataset_id: int) -> bool:
    """Make the dataset's partition if missing; return True if this call did.

    Two callers at once take turns.
    """
    return not partition_exists(dataset_id) and _ask("SELECT ehr_add_partition(%s)", dataset_id)


def drop_partition(dataset_id: int) -> bool:
    """Drop the partition of a deleted dataset with all its rows.

    Returns False if there is none. Nothing may refer to its rows any more.
    """
    return _ask("SELECT ehr_drop_partition(%s)", dataset_id)


def drop_with_dataset(sender: Any, instance: Any, **_: Any) -> None:
    """Drop the partition of a deleted dataset (a signal receiver).

    It is connected in `EhrConfig.ready`.
    """
    drop_partition(instance.pk)


def _ask(question: str, value: int | str) -> bool:
    """Return the truth value of a statement with one parameter."""
    with connection.cursor() as cursor:
        cursor.execute(question, [value])
        return bool(cursor.fetchone()[0])
