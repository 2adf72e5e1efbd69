"""Move occurrences without a row with the rows adopted around them.

The text connects an occurrence to its neighbours ("two hours later", "after the scan"). If the
record moves those, the old hour would separate them, so the occurrence moves by the weighted median
of their shifts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Characters and hours over which the weight of a neighbour's shift decays to 1/e.
_TEXT_SCALE = 250.0
_TIME_SCALE = 6.0
#: Together the neighbours must weigh this much before anything moves.
_MIN_WEIGHT = 0.25
MAX_SHIFT = 24.0


@dataclass(frozen=True, slots=True)
class Anchored:
    """An occurrence whose time was taken from a row.

    It has its position in the note, the hour of the text and the hour of the row.
    """

    uid: str
    position: int
    text_time: float
    row_time: float

    @property
    def shift(self) -> float:
        return self.row_time - self.text_time


@dataclass(frozen=True, slots=True)
class Move:
    """A shift in hours.

    `by` are the anchors that caused it, the weightiest first.
    """

    shift: float
    by: tuple[str, ...]


def find_move(
    position: int, text_time: float, context: Sequence[str], anchors: Sequence[Anchored]
) -> Move | None:
    """Return the shift of an occurrence at `position` of the note.

    None if no anchor is near enough.
    """
    weighed = sorted(
        ((_weight(position, text_time, context, a), a) for a in anchors),
        key=lambda item: (-item[0], item[1].position),
    )
    near = [(w, a) for w, a in weighed if w > 0.02][:12]
    total = sum(w for w, _ in near)
    if total < _MIN_WEIGHT:
        return None
    shift = _median([(a.shift, w) for w, a in near])
    if abs(shift) > MAX_SHIFT:
        return None
    return Move(shift, tuple(a.uid for _, a in near[:3]))


def _weight(position: int, text_time: float, context: Sequence[str], anchor: Anchored) -> float:
    weight = math.exp(-abs(position - anchor.position) / _TEXT_SCALE) * math.exp(
        -abs(text_time - anchor.text_time) / _TIME_SCALE
    )
    return weight + (0.3 if anchor.uid in context else 0.0)


def _median(values: list[tuple[float, float]]) -> float:
    ordered = sorted(values)
    half, seen = sum(w for _, w in ordered) / 2, 0.0
    for value, weight in ordered:
        seen += weight
        if seen >= half:
            return value
    return ordered[-1][0]
