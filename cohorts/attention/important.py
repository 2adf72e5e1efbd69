"""Which rows of a record are clinically important.

The kinds and their limits are in `data/important.toml`. No Django here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).with_name("data") / "important.toml"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of important row; patterns are regular expressions, case ignored."""

    name: str
    why: str
    events: str
    mentions: str
    #: Rows at most so many hours apart are one episode.
    gap: float
    not_events: str = ""
    values: str = ""
    no_values: str = ""
    above: float | None = None
    below: float | None = None
    unit: str = ""

    def concerns(self, event: str) -> bool:
        """Return whether rows of this event name may be of the kind."""
        left_out = bool(self.not_events) and re.match(self.not_events, event, re.IGNORECASE)
        return not left_out and re.match(self.events, event, re.IGNORECASE) is not None

    def includes(self, value: str, number: float | None, unit: str) -> bool:
        """Return whether a row of such an event with this value is of the kind.

        A limit is compared only in its own unit; a row without a unit has it.
        """
        if self.values and not re.search(self.values, value, re.IGNORECASE):
            return False
        if self.no_values and re.search(self.no_values, value.strip(), re.IGNORECASE):
            return False
        if self.above is None and self.below is None:
            return True
        if number is None or (self.unit and unit and unit.lower() != self.unit):
            return False
        return (self.above is None or number >= self.above) and (
            self.below is None or 0 < number <= self.below
        )

    def explains(self, mention: str) -> bool:
        """Return whether a mention is of the same thing."""
        return re.search(self.mentions, mention, re.IGNORECASE) is not None


@cache
def load_kinds() -> tuple[Kind, ...]:
    """Return the kinds in the order of the file."""
    found = tomllib.loads(DATA.read_text(encoding="utf-8"))["kind"]
    return tuple(Kind(**kind) for kind in found)


def find_concerned(events: Iterable[str]) -> dict[str, tuple[Kind, ...]]:
    """Return the kinds that each event name may be of; names of none are left out."""
    kinds = {event: tuple(k for k in load_kinds() if k.concerns(event)) for event in events}
    return {event: found for event, found in kinds.items() if found}
