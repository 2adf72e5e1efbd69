"""Decide exactly whether a formula is true for every, for no or for some assignment of times.

Split on a statement, assume it or its opposite, simplify, and go on until nothing is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from cohorts.engine.differences import Differences
from cohorts.engine.formulas import Formula, find_atom, measure_size, negate, simplify

#: How many statements are read for one stay before its question is given up.
MAX_STEPS = 200_000


class GaveUp(Exception):
    """The formula is too long to decide in the allowed steps."""

    log_safe = True


@dataclass
class Budget:
    """How many steps are left; raises GaveUp when they are spent."""

    left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise GaveUp


def can_be(answer: bool, formula: Formula, known: Differences, budget: Budget) -> bool:
    """Return whether some assignment gives this answer; raises GaveUp."""
    return _satisfiable(formula if answer else negate(formula), known, budget)


def _satisfiable(formula: Formula, known: Differences, budget: Budget) -> bool:
    budget.spend(1 + measure_size(formula))
    formula = simplify(formula, known)
    if isinstance(formula, bool):
        return formula
    atom = find_atom(formula)
    assert atom is not None
    for assumed in (atom, atom.negate()):
        narrowed = known.add(assumed)
        if narrowed is not None and _satisfiable(formula, narrowed, budget):
            return True
    return False
