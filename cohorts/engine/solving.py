"""Decide whether a formula can be true, and whether it can be false.

Split on a statement, assume it or its opposite, simplify, and go on until nothing is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from cohorts.engine.differences import Atom, Differences
from cohorts.engine.formulas import Formula, list_atoms, list_forced, negate, simplify

#: How many statements are read for one stay, and for all of an evaluation, before it is given up.
MAX_STEPS, MAX_TOTAL = 50_000, 1_500_000


class GaveUp(Exception):
    """The formula is too long to decide in the allowed steps."""

    log_safe = True


@dataclass
class Budget:
    """How many steps are left for a stay; raises GaveUp when they are spent."""

    left: int = MAX_STEPS
    spent: int = 0

    def spend(self, steps: int) -> None:
        self.left -= steps
        self.spent += steps
        if self.left < 0:
            raise GaveUp


def can_be(answer: bool, formula: Formula, known: Differences, budget: Budget) -> bool:
    """Return whether some assignment gives this answer; raises GaveUp."""
    return _satisfiable(formula if answer else negate(formula), known, budget)


def _satisfiable(formula: Formula, known: Differences, budget: Budget) -> bool:
    while True:
        budget.spend(1 + sum(1 for _ in list_atoms(formula)))
        formula = simplify(formula, known)
        if isinstance(formula, bool):
            return formula
        forced = list(list_forced(formula))
        if not forced:
            break
        narrowed = _assume(forced, known)
        if narrowed is None:
            return False
        known = narrowed
    atom = next(list_atoms(formula))
    return any(
        narrowed is not None and _satisfiable(formula, narrowed, budget)
        for narrowed in (_assume([assumed], known) for assumed in (atom, atom.negate()))
    )


def _assume(atoms: list[Atom], known: Differences) -> Differences | None:
    """Return what is known if these are true; None if they cannot all be."""
    narrowed: Differences | None = known
    for atom in atoms:
        if narrowed is None:
            break
        narrowed = narrowed.add(atom)
    return narrowed
