"""Choose among alternatives along a chain at the least cost.

Min-sum belief propagation, which is exact on a chain: every alternative gets the least cost of all
joint choices that contain it. The best has the least; the difference is how much worse the story
becomes with another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def least_costs(first: np.ndarray, steps: Sequence[np.ndarray]) -> np.ndarray:
    """Return the least joint cost with each first alternative of a chain.

    `first`: (k,) the costs of its alternatives. `steps`: for each further link the (k, m) costs of
    its m alternatives after the k of the link before it; infinite ones are excluded.
    """
    rest = np.zeros(steps[-1].shape[1] if steps else len(first))
    for step in reversed(steps):
        rest = (step + rest).min(axis=1)
    return first + rest


def close_to_best(costs: np.ndarray, margin: float) -> list[int]:
    """Return the places of alternatives that are nearly the best.

    They cost at most `margin` more. The best comes first; of equal ones the earlier.
    """
    order = np.argsort(costs, kind="stable")
    return [int(i) for i in order if costs[i] <= costs[order[0]] + margin]
