"""Other weights, to test a ranking (protocol section 4, "Sensitivity")."""

from __future__ import annotations

from collections.abc import Mapping

from adjudication.scoring.errors import WEIGHTS, Category

_MISSED = (Category.MISSED_POSITIVE, Category.MISSED_NEGATIVE, Category.MISSED_RECURRENCE)

#: Scheme name → weights; the prespecified one comes first.
SCHEMES: Mapping[str, Mapping[Category, float]] = {
    "prespecified": WEIGHTS,
    "equal": dict.fromkeys(Category, 1.0),
    "timing only": {c: 2.0 if c is Category.WRONG_TIME else 0.0 for c in Category},
    "recall only": {c: WEIGHTS[c] if c in _MISSED else 0.0 for c in Category},
}
