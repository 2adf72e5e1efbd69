"""The formula of one stay: counts of statements about differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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


def list_atoms(formula: Formula) -> Iterator[Atom]:
    """Yield the undecided statements of a formula."""
    if isinstance(formula, Atom):
        yield formula
    elif isinstance(formula, Count):
        for part in formula.parts:
            yield from list_atoms(part)


def list_forced(formula: Formula, answer: bool = True) -> Iterator[Atom]:
    """Yield statements that this answer needs to be true."""
    if isinstance(formula, Atom):
        yield formula if answer else formula.negate()
    elif isinstance(formula, Count):
        size = len(formula.parts)
        if answer and formula.least == size:
            wanted = True
        elif (answer and formula.most == 0) or (
            not answer and formula.least == 1 <= size <= formula.most
        ):
            wanted = False
        elif not answer and formula.most == 0 and size == 1:
            wanted = True
        else:
            return
        for part in formula.parts:
            yield from list_forced(part, wanted)


def rename(formula: Formula, places: Mapping[int, int]) -> Formula:
    """Return the formula with its numbers at other places."""
    if isinstance(formula, Atom):
        return replace(formula, x=places[formula.x], y=places[formula.y])
    if isinstance(formula, Count):
        return replace(formula, parts=tuple(rename(part, places) for part in formula.parts))
    return formula
