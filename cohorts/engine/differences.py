"""Know what differences of numbers can be: x − y ≤ c or x − y < c.

A system of such constraints is closed by shortest paths, as Bellman and Ford do; it has a
solution unless a cycle is negative, or zero with a strict part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: An upper limit of a difference: its number, and −1 if it is strict, else 0. Less is tighter.
Limit = tuple[float, int]
_NONE: Limit = (math.inf, 0)


@dataclass(frozen=True, slots=True)
class Atom:
    """The statement x − y ≤ limit, or <; x and y are places in a system."""

    x: int
    y: int
    limit: Limit

    def negate(self) -> Atom:
        """Return y − x < −limit, or ≤ if this is strict."""
        number, strict = self.limit
        return Atom(self.y, self.x, (-number, -1 - strict))


class Differences:
    """A closed system of constraints; place 0 is the number 0."""

    def __init__(self, boxes: list[tuple[float, float]]) -> None:
        """Start with the bounds of each further number."""
        size = len(boxes) + 1
        highs: list[Limit] = [(0.0, 0), *((high, 0) for _, high in boxes)]
        lows: list[Limit] = [(0.0, 0), *((-low, 0) for low, _ in boxes)]
        self._limits = [[_add(highs[x], lows[y]) for y in range(size)] for x in range(size)]
        for x in range(size):
            self._limits[x][x] = (0.0, 0)

    def decide(self, atom: Atom) -> bool | None:
        """Return whether every solution fits the atom, or none does; else None."""
        if self._limits[atom.x][atom.y] <= atom.limit:
            return True
        negated = atom.negate()
        return False if self._limits[atom.y][atom.x] <= negated.limit else None

    def add(self, atom: Atom) -> Differences | None:
        """Return the system with one more constraint; None if nothing fits."""
        if _add(self._limits[atom.y][atom.x], atom.limit) < (0.0, 0):
            return None
        narrowed = Differences.__new__(Differences)
        from_y = self._limits[atom.y]
        narrowed._limits = []
        for row in self._limits:
            # Every path from here over the new edge starts with this.
            start = _add(row[atom.x], atom.limit)
            if start == _NONE:
                narrowed._limits.append(row)
                continue
            narrowed._limits.append(
                [min(old, _add(start, rest)) for old, rest in zip(row, from_y, strict=True)]
            )
        return narrowed


def _add(first: Limit, second: Limit) -> Limit:
    number = first[0] + second[0]
    return _NONE if number == math.inf else (number, min(first[1], second[1]))
