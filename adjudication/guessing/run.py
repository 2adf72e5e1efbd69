"""The guess test: can a classifier find who wrote the sides? No Django.

It learns from all but some cases and guesses those, until each case was guessed once. What it finds
on cases that it did not see, a reviewer could find too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adjudication.guessing.auc import area, area_interval
from adjudication.guessing.classifier import Features, fit_classifier
from adjudication.guessing.features import describe_item
from adjudication.guessing.served import ServedItem

#: Number of parts that the cases are divided into, if there are so many.
PARTS = 12
#: Number of features listed.
LISTED = 12
#: The largest area that counts as blinded.
LARGEST = 0.55


@dataclass(frozen=True, slots=True)
class Guess:
    """How well a classifier separates the sources of one pairing.

    `count` items; `area` is None if there are too few cases. `signs`: the features with the largest weights; a
    positive weight speaks for the first source.
    """

    pairing: str
    count: int
    cases: int
    area: float | None = None
    low: float | None = None
    high: float | None = None
    signs: tuple[tuple[str, float], ...] = ()

    @property
    def passed(self) -> bool | None:
        """Whether nothing gives the sources away; None if it was not measured."""
        if self.area is None or self.low is None or self.high is None:
            return None
        return self.area <= LARGEST and self.low <= 0.5

    def plain(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**asdict(self), "signs": [list(sign) for sign in self.signs]}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Guess:
        """Build it from `plain`'s result."""
        return cls(**{**plain, "signs": tuple((name, weight) for name, weight in plain["signs"])})


def guess_sources(items: Sequence[ServedItem]) -> list[Guess]:
    """Return a guess for each pairing of the items, by its name."""
    pairings = sorted({item.pairing for item in items})
    return [_guess_pairing(name, [i for i in items if i.pairing == name]) for name in pairings]


def _guess_pairing(pairing: str, items: Sequence[ServedItem]) -> Guess:
    features, cases = [describe_item(item) for item in items], [item.case for item in items]
    count = len(set(cases))
    if count < 2:
        return Guess(pairing, len(items), count)
    scores = score_unseen(features, cases)
    low, high = area_interval(scores, cases)
    signs = tuple(fit_classifier(features).strongest(LISTED))
    return Guess(pairing, len(items), count, area(scores), low, high, signs)


def score_unseen(features: Sequence[Features], cases: Sequence[str]) -> NDArray[np.float64]:
    """Return each item's score by a classifier that did not see its case."""
    parts = {case: n % PARTS for n, case in enumerate(sorted(set(cases)))}
    scores = np.zeros(len(features))
    for part in set(parts.values()):
        apart = [i for i, case in enumerate(cases) if parts[case] == part]
        seen = [f for i, f in enumerate(features) if parts[cases[i]] != part]
        scores[apart] = fit_classifier(seen).score([features[i] for i in apart])
    return scores
