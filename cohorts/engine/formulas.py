"""The formula of one stay: counts over statements about differences of times and values."""

from __future__ import annotations

from dataclasses import dataclass

from cohorts.engine.differences import Atom, Differences


@dataclass(frozen=True, slots=True)
class Count:
    """Between `least` and `most` of the parts are true.

    "All of n" is a count of n to n, "any" of 1 to n, "not" of 0 to 0 of one part.
    """

    least: float
    most: float
    parts: tuple[Formula, ...]


Formula = bool | Atom | Count


def count(least: float, most: float, parts: list[Formula]) -> Formula:
    """Return a count without the parts that are known."""
    known = sum(1 for part in parts if part is True)
    left = tuple(part for part in parts if not isinstance(part, bool))
    least, most = max(0, least - known), min(len(left), most - known)
    if least > len(left) or most < least:
        return False
    if least == 0 and most == len(left):
        return True
    if least == most == len(left) == 1:
        return left[0]
    return Count(least, most, left)


def conjoin(parts: list[Formula]) -> Formula:
    """Return that all parts are true."""
    return count(len(parts), len(parts), parts)


def disjoin(parts: list[Formula]) -> Formula:
    """Return that at least one part is true."""
    return count(1, len(parts), parts)


def negate(part: Formula) -> Formula:
    """Return that the part is not true."""
    return count(0, 0, [part])


def simplify(formula: Formula, known: Differences) -> Formula:
    """Return the formula without the parts that the constraints decide."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, Atom):
        decided = known.decide(formula)
        return formula if decided is None else decided
    return count(formula.least, formula.most, [simplify(part, known) for part in formula.parts])


def find_atom(formula: Formula) -> Atom | None:
    """Return the first undecided statement."""
    while isinstance(formula, Count):
        formula = formula.parts[0]
    return formula if isinstance(formula, Atom) else None


def measure_size(formula: Formula) -> int:
    """Return how many statements a formula has."""
    if isinstance(formula, Count):
        return sum(measure_size(part) for part in formula.parts)
    return int(isinstance(formula, Atom))
