"""The concordance of predicted and reference times.

Two conventions of the concordance index. No Django. Times in hours from admission. Source: protocol
section 3; the paper's appendix (temporal concordance).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Times = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Pairs of matched events with different reference times.

    They are counted by the order of their predicted times.
    """

    concordant: int
    discordant: int
    #: The predicted times are exactly equal.
    tied: int

    @property
    def concordance(self) -> float | None:
        """Return concordant over pairs with different predicted times.

        None if there are none.
        """
        compared = self.concordant + self.discordant
        return self.concordant / compared if compared else None

    @property
    def concordance_ref(self) -> float | None:
        """As above, with tied predictions compared too and counting ½."""
        compared = self.concordant + self.discordant + self.tied
        return (self.concordant + 0.5 * self.tied) / compared if compared else None


def concordance(reference: Times, predicted: Times) -> float | None:
    """Return the share of pairs in the right order.

    Pairs have different reference and different predicted times. `reference` and `predicted` are
    the times of the matched events of one case, in the same order. Events with N/A (None) on either
    side are omitted. Times differ if the numbers differ. None if no pair can be compared, as with
    fewer than two events. Raises ValueError for lists of different lengths and for NaN or infinity.
    O(n log n).
    """
    return count_pairs(reference, predicted).concordance


def concordance_ref(reference: Times, predicted: Times) -> float | None:
    """Return the c-index of lifelines.

    As `concordance`, but pairs with equal predicted times are compared and count ½. The code that
    the paper's authors released uses this convention. None and errors as in `concordance`.
    """
    return count_pairs(reference, predicted).concordance_ref


def count_pairs(reference: Times, predicted: Times) -> PairCounts:
    """Count the pairs that both indices use.

    Arguments and errors as in `concordance`. Knight's count: sorted by reference time, then
    predicted time, the discordant pairs are the inversions of the predicted times, and the ties
    follow from how often each value appears.
    """
    if len(reference) != len(predicted):
        raise ValueError(f"{len(reference)} reference times and {len(predicted)} predicted times")
    both = [
        (r, p) for r, p in zip(reference, predicted, strict=True) if r is not None and p is not None
    ]
    times = np.array(both, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(times).all():
        raise ValueError("times contain NaN or infinity")
    _, truth = np.unique(times[:, 0], return_inverse=True)
    _, guess = np.unique(times[:, 1], return_inverse=True)
    span = int(guess.max(initial=0)) + 1
    cells = truth * span + guess
    discordant = _inversions(np.sort(cells) % span)
    equal_truth, equal_guess, equal_both = (
        _equal_pairs(truth),
        _equal_pairs(guess),
        _equal_pairs(np.unique(cells, return_inverse=True)[1]),
    )
    total = len(both) * (len(both) - 1) // 2
    tied = equal_guess - equal_both
    return PairCounts(total - equal_truth - tied - discordant, discordant, tied)


def _equal_pairs(labels: NDArray[np.intp]) -> int:
    """Pairs of positions with the same label (labels from 0, dense)."""
    counts = np.bincount(labels)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: NDArray[np.intp]) -> int:
    """Count pairs of positions i < j with ranks[i] > ranks[j].

    Ranks are whole numbers from 0. Bit by bit from the highest: two ranks that agree in all higher
    bits are out of order if a 1 comes before a 0. The ranks are then sorted by that bit too, in
    linear time and stably.
    """
    found = 0
    for bit in range(int(ranks.max(initial=0)).bit_length() - 1, -1, -1):
        key = ranks >> bit
        ends = np.cumsum(np.bincount(key, minlength=(int(key.max()) | 1) + 1))
        starts = np.concatenate(([0], ends[:-1]))
        one = key & 1
        ones_before = np.cumsum(one) - one
        group = starts[key & ~1]
        ones_before = ones_before - ones_before[group]
        zeros_before = np.arange(len(ranks)) - group - ones_before
        found += int(ones_before[one == 0].sum())
        placed = np.empty_like(ranks)
        placed[starts[key] + np.where(one == 1, ones_before, zeros_before)] = ranks
        ranks = placed
    return found
