"""Number the rows of each case, up to those of the longest case."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db.models import F, Func, IntegerField, Max, Sum

from ehr.formats.base import Rejection
from ehr.formats.limits import Limits
from ehr.formats.stream import Ints, StreamBlock, StreamFile
from ehr.models import Dataset, SourceRow

#: The columns whose bytes count for a case.
TEXTS = ("event", "value", "unit", "source")


class Counters:
    """The next row index of each encounter, and the bytes of its rows."""

    def __init__(self, encounters: int, limits: Limits) -> None:
        self._next, self._bytes = np.zeros(encounters, np.int64), np.zeros(encounters, np.int64)
        self._limits = limits

    def load(self, dataset: Dataset, ids: Ints) -> None:
        """Go on after the stored rows of these encounters; 0 is none."""
        place = {int(pk): i for i, pk in enumerate(ids) if pk}
        stored = (
            SourceRow.objects.filter(dataset=dataset)
            .order_by()
            .values_list("encounter_id")
            .annotate(
                highest=Max("row_index"),
                size=Sum(
                    sum(
                        Func(F(c), function="octet_length", output_field=IntegerField())
                        for c in TEXTS
                    )
                ),
            )
        )
        for encounter_id, highest, size in stored:
            if encounter_id in place:
                self._next[place[encounter_id]] = highest + 1
                self._bytes[place[encounter_id]] = size

    def number(
        self, file: StreamFile, block: StreamBlock
    ) -> tuple[pa.Table, Ints, list[Rejection]]:
        """Return the rows with their index, their encounters, rejections.

        Rows beyond the longest case are rejected.
        """
        rows, encounters = block.rows, block.encounters
        indices, so_far = self.take(encounters, _count_bytes(rows))
        many, long = indices >= self._limits.case_rows, so_far > self._limits.case_bytes
        fits = ~(many | long)
        rejections = [] if fits.all() else self._reject(file, block, many, long)
        numbered = rows.append_column("row_index", pa.array(indices, pa.int32()))
        if rejections:
            numbered, encounters = numbered.filter(pa.array(fits)), encounters[fits]
        return numbered, encounters, rejections

    def _reject(
        self, file: StreamFile, block: StreamBlock, many: np.ndarray, long: np.ndarray
    ) -> list[Rejection]:
        limits = self._limits
        reasons = (
            (many, f"the case has more than {limits.case_rows:,} rows (IMPORT_CASE_ROWS)"),
            (
                long & ~many,
                f"the case has more than {limits.case_bytes:,} bytes (IMPORT_CASE_BYTES)",
            ),
        )
        return [
            file.reject(reason, line)
            for mask, reason in reasons
            for line in np.unique(block.lines[mask]).tolist()
        ]

    def take(self, encounters: Ints, sizes: Ints) -> tuple[Ints, Ints]:
        """Return (row index, bytes of the encounter so far) of each row.

        `sizes` are the bytes of the rows. Both count on within the encounter.
        """
        order = np.argsort(encounters, kind="stable")
        ordered = encounters[order]
        starts = (
            np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
            if len(ordered)
            else np.zeros(0, np.int64)
        )
        counts = np.diff(np.r_[starts, len(ordered)])
        indices = np.empty(len(encounters), np.int64)
        indices[order] = self._next[ordered] + np.arange(len(ordered)) - np.repeat(starts, counts)
        self._next[ordered[starts]] += counts
        sums = np.cumsum(sizes[order])
        before = np.repeat(sums[starts] - sizes[order][starts], counts)
        so_far = np.empty(len(encounters), np.int64)
        so_far[order] = self._bytes[ordered] + sums - before
        np.maximum.at(self._bytes, encounters, so_far)
        return indices, so_far


def _count_bytes(rows: pa.Table) -> Ints:
    """Return the bytes of the texts of each row."""
    lengths = [pc.binary_length(rows[c]).to_numpy().astype(np.int64) for c in TEXTS]
    return np.sum(lengths, axis=0)
