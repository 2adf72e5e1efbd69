"""Limit how many pairs of occurrences are compared, at once and in all."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cohorts.engine.values import WindowError

#: How many pairs are compared at once, and in one evaluation (about a minute).
SLICE, MAX_PAIRS = 2_000_000, 100_000_000


class TooManyPairs(WindowError):
    """A window compares more pairs of occurrences than can be."""

    log_safe = True


@dataclass
class Pairs:
    """How many pairs may still be compared."""

    left: int = MAX_PAIRS

    def split(self, rows: pl.DataFrame, counts: pl.DataFrame) -> list[pl.DataFrame]:
        """Return the rows in slices of few pairs each, at least one slice."""
        if rows.is_empty() or counts.is_empty():
            return [rows]
        if rows.height * int(counts["len"].max() or 0) <= SLICE:
            self.left -= rows.height
            return [rows]
        pairs = rows.select("stay").join(counts, on="stay", how="left", maintain_order="left")
        ends = pairs["len"].fill_null(0).cum_sum()
        self.left -= int(ends[-1])
        if self.left < 0:
            raise TooManyPairs(
                f"The window compares more than {MAX_PAIRS:,} pairs of occurrences."
                " Ask for the first or last occurrence, or for fewer events inside each other."
            )
        return rows.with_columns(slice=ends // SLICE).partition_by(
            "slice", include_key=False, maintain_order=True
        )
