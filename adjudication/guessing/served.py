"""What a reviewer gets of an item, by side, for the guess test. No Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ServedSide:
    """One side: texts and numbers by their place on the page, in order.

    A missing number is None.
    """

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServedItem:
    """One item, with the side of the pairing's first source first."""

    case: str
    pairing: str
    first: ServedSide
    second: ServedSide
