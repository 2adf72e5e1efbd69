"""Many figures over the same resamples of cases at once.

No Django. A resample is a weight for each case, the number of times it was drawn. Pooled figures
follow from sums per case times weights, so each event is read only once. All methods give an array
of shape (resamples,), NaN if a resample has no data. Differences between two such arrays are
paired: `interval(second - first)`; a resample that lacks either figure is omitted. Source: protocol
section 3 ("Intervals").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timelines.evaluation.aultc import U, check_s_max, log_errors
from timelines.evaluation.bootstrap import (
    FEWEST_CASES,
    RESAMPLES,
    SEED,
    Interval,
    percentile_interval,
    resample_indices,
)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Resamples:
    """`indices` (resamples, n_cases): the cases of each resample.

    `resample_indices` draws them with the same seed.
    """

    indices: NDArray[np.intp]

    @classmethod
    def draw(cls, n_cases: int, resamples: int = RESAMPLES, seed: int = SEED) -> Resamples:
        """Arguments and errors as in `resample_indices`."""
        return cls(resample_indices(n_cases, resamples, seed))

    @property
    def n_cases(self) -> int:
        return self.indices.shape[1]

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Count each case in each resample, shape (resamples, n_cases)."""
        weights = np.zeros(self.indices.shape, dtype=np.int64)
        np.add.at(weights, (np.arange(len(self.indices))[:, None], self.indices), 1)
        return weights

    def ratio(self, numerators: ArrayLike, denominators: ArrayLike) -> Values:
        """Return the pooled share: sum of one number over sum of another.

        Each case has one of each, for example matched and reference events. NaN for 0 / 0. Raises
        ValueError if a list does not have one number a case, as every method does.
        """
        return _divide(self._sum(numerators), self._sum(denominators))

    def median_of_cases(self, values: Sequence[float | None] | ArrayLike) -> Values:
        """Return the median over cases of one figure for each case.

        Concordance is such a figure; cases without one (None, NaN) are omitted.
        """
        drawn = np.sort(self._per_case(values)[self.indices], axis=1)  # NaN comes last
        return _find_median(drawn, np.count_nonzero(~np.isnan(drawn), axis=1))

    def aultc(self, errors: Sequence[ArrayLike], s_max: float) -> Values:
        """Return the pooled AULTC of the errors of each case, in hours.

        `s_max`, range and raised errors as in `aultc.aultc`.
        """
        logs = self._logs(errors)
        for case in logs:
            check_s_max(case, s_max)
        count = self._sum([case.size for case in logs])
        if not s_max:
            return np.where(count > 0, 1.0, np.nan)
        largest = np.array([case.max(initial=-math.inf) for case in logs])
        free = np.where(self.weights > 0, largest, -math.inf).max(axis=1, initial=-math.inf)
        total = self._sum([case.sum() for case in logs])
        return 1 - _divide(total - np.where(count > 0, free, 0), count * math.log1p(s_max))

    def aultc_ref(self, errors: Sequence[ArrayLike]) -> Values:
        """Return the pooled AULTC with the fixed horizon.

        Raises errors as `aultc.aultc_ref`.
        """
        logs = self._logs(errors)
        return (
            1
            - self.ratio([np.minimum(case, U).sum() for case in logs], [case.size for case in logs])
            / U
        )

    def median_error(self, errors: Sequence[ArrayLike]) -> Values:
        """Median of the errors of all cases pooled, in hours."""
        cases = [np.asarray(case, dtype=np.float64).ravel() for case in self._one_each(errors)]
        pooled = np.concatenate([*cases, np.empty(0)])
        order = np.argsort(pooled, kind="stable")
        owner = np.repeat(np.arange(len(cases)), [case.size for case in cases])[order]
        ordered = pooled[order]
        # A resample at a time: all at once would be a matrix of resamples by events.
        return np.array(
            [_weighted_middle(ordered, np.cumsum(drawn[owner])) for drawn in self.weights],
            dtype=np.float64,
        )

    def interval(self, values: ArrayLike) -> Interval:
        """Return the 95 % percentile interval of a method's result.

        (None, None) without data or with fewer than two cases.
        """
        return percentile_interval(values) if self.n_cases >= FEWEST_CASES else (None, None)

    def _sum(self, values: ArrayLike) -> Values:
        """The sum of one number a case over the cases of each resample."""
        return np.asarray(self.weights @ self._per_case(values), dtype=np.float64)

    def _per_case(self, values: Sequence[float | None] | ArrayLike) -> Values:
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.shape != (self.n_cases,):
            raise ValueError(f"{numbers.size} numbers for {self.n_cases} cases")
        return numbers

    def _one_each(self, errors: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
        if len(errors) != self.n_cases:
            raise ValueError(f"{len(errors)} lists of errors for {self.n_cases} cases")
        return errors

    def _logs(self, errors: Sequence[ArrayLike]) -> list[Values]:
        return [log_errors(case) for case in self._one_each(errors)]


def _divide(above: Values, below: Values) -> Values:
    return np.divide(above, below, out=np.full(below.shape, np.nan), where=below != 0)


def _find_median(rows: Values, counts: NDArray[np.intp]) -> Values:
    """Return the median of the first `counts` of each sorted row.

    NaN if there are none.
    """
    if not rows.shape[1]:
        return np.full(len(rows), np.nan)
    at = np.arange(len(rows))
    return np.where(
        counts > 0,
        (
            rows[at, np.maximum(counts - 1, 0) // 2]
            + rows[at, np.minimum(counts // 2, rows.shape[1] - 1)]
        )
        / 2,
        np.nan,
    )


def _weighted_middle(ordered: Values, upto: NDArray[np.int64]) -> float:
    """Return the median of sorted values that occur several times each.

    NaN of none; `upto` counts the values up to each of them.
    """
    if not upto.size or not upto[-1]:
        return math.nan
    low, high = np.searchsorted(upto, [(upto[-1] - 1) // 2, upto[-1] // 2], side="right")
    return float((ordered[low] + ordered[high]) / 2)
