"""One process at a time changes the cases of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from ehr.models import Dataset


class ImportBusy(RuntimeError):
    """Another process imports into the dataset, or deletes it."""

    log_safe = True


@contextmanager
def lock_import(dataset: Dataset) -> Iterator[None]:
    """Hold the dataset's import lock. Raises ImportBusy.

    The server releases the lock when this process dies.
    """
    with connection.cursor() as cursor:
        key = dataset.pk
        cursor.execute("SELECT pg_try_advisory_lock(hashtext('ehr.import'), %s)", [key])
        if not cursor.fetchone()[0]:
            raise ImportBusy(
                f"The dataset {dataset.name} is being imported by another process. Wait for it to"
                " end."
            )
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(hashtext('ehr.import'), %s)", [key])
