"""A logistic regression that guesses the source of a side. No Django.

It has no constant: exchanging the sides of an item changes only the sign of its score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Features = Mapping[str, float]
#: A feature counts if at least so many items have it.
LEAST_ITEMS = 2
#: Weight of the penalty on squared weights, for each item.
PENALTY = 0.1
STEPS = 200


@dataclass(frozen=True)
class Classifier:
    """Weights of features; the score of an item is above 0 for its true sides."""

    names: tuple[str, ...]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]

    def score(self, items: Sequence[Features]) -> NDArray[np.float64]:
        """Return the score of each item."""
        return np.asarray(_tabulate(items, self.names) / self.scale @ self.weights)

    def strongest(self, count: int) -> list[tuple[str, float]]:
        """Return the features with the largest weights, the largest first."""
        order = np.argsort(-np.abs(self.weights), kind="stable")[:count]
        return [(self.names[i], float(self.weights[i])) for i in order if self.weights[i]]


def fit_classifier(items: Sequence[Features]) -> Classifier:
    """Fit it to items whose first source's side is first.

    An item and its mirror image count as one example of each class.
    """
    counts = Counter(name for item in items for name in item)
    names = tuple(sorted(name for name, n in counts.items() if n >= LEAST_ITEMS))
    table = _tabulate(items, names)
    scale = np.sqrt(np.mean(table**2, axis=0)) if len(items) else np.ones(len(names))
    words = np.array([name.endswith("”") for name in names], dtype=bool)
    # All words together weigh as much as one other feature.
    scale = np.where(words, scale * max(1, words.sum()) ** 0.5, scale)
    return Classifier(names, scale, _descend(table / scale))


def _descend(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise the penalised loss by Nesterov's accelerated descent."""
    weights = np.zeros(table.shape[1])
    if not table.size:
        return weights
    steepest = 0.25 * float(np.linalg.norm(table, 2)) ** 2 / len(table) + PENALTY
    ahead = weights
    for step in range(STEPS):
        wrong = 1 / (1 + np.exp(np.clip(table @ ahead, -500, 500)))
        new = ahead - (PENALTY * ahead - table.T @ wrong / len(table)) / steepest
        ahead = new + step / (step + 3) * (new - weights)
        weights = new
    return weights


def _tabulate(items: Sequence[Features], names: Sequence[str]) -> NDArray[np.float64]:
    at = {name: i for i, name in enumerate(names)}
    table = np.zeros((len(items), len(names)))
    for row, item in enumerate(items):
        for name, value in item.items():
            if name in at:
                table[row, at[name]] = value
    return table
