"""Stays in batches of about as many rows as fit into the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.db.models import Count

from ehr.formats.stream import Ints
from ehr.ingest.work import ENCOUNTERS_AT_ONCE
from ehr.models import Dataset, SourceRow

#: A stay with more rows is read whole. Larger batches are not faster.
ROWS_AT_ONCE = 50_000


def make_batches(dataset: Dataset, keys: Sequence[int]) -> Iterator[tuple[Ints, list[int]]]:
    """Yield (some of the primary keys in order, their counts of rows)."""
    stored = (
        SourceRow.objects.filter(dataset=dataset)
        .order_by()
        .values_list("encounter_id")
        .annotate(Count("row_index"))
    )
    counts = dict(stored)
    batch: list[int] = []
    size = 0
    for pk in keys:
        batch.append(pk)
        size += counts.get(pk, 0)
        if size >= ROWS_AT_ONCE or len(batch) >= ENCOUNTERS_AT_ONCE:
            yield np.array(batch, np.int64), [counts.get(p, 0) for p in batch]
            batch, size = [], 0
    if batch:
        yield np.array(batch, np.int64), [counts.get(p, 0) for p in batch]
