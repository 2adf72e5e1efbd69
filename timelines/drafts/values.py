"""One occurrence of a draft: frozen, and checked when it is made.

The page and the edit log get it as plain values. Offsets are code points of the note,
end-exclusive; times are hours from admission. No Django.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from timelines.domain import MAX_CONTEXT, Lane, Polarity

LONGEST_MENTION = 500
LONGEST_ENTERED = 100
LONGEST_REASON = 2000
MOST_ROWS = 50
#: Hours that no stay and no history reaches; beyond them a number is a slip of the keyboard.
FARTHEST_HOURS = 200 * 8760.0


class EditRefused(ValueError):
    """An edit that would break an invariant of the protocol.

    `field` names the wrong value; the message quotes no text.
    """

    log_safe = True

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class DraftOccurrence:
    """One occurrence of a draft and its time, if the author has set one.

    `placed` says that the author has decided: placed without a time is N/A, not placed is still to
    do. `entered` is the typed text. Raises EditRefused if an invariant of the protocol would be
    violated (section 1; section 2, stages 2 and 3).
    """

    uid: str
    start: int
    end: int
    mention: str
    polarity: str = Polarity.PRESENT.value
    lane: str = Lane.FINDING.value
    placed: bool = False
    time: float | None = None
    lower: float | None = None
    upper: float | None = None
    known: bool = False
    context: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    entered: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        self._check_text()
        self._check_time()
        if len(self.context) > MAX_CONTEXT:
            raise EditRefused("context", f"At most {MAX_CONTEXT} context occurrences.")
        if len(set(self.context)) != len(self.context) or self.uid in self.context:
            raise EditRefused(
                "context", "Context occurrences must be different, and different from this one."
            )
        if len(self.rows) > MOST_ROWS or len(set(self.rows)) != len(self.rows):
            raise EditRefused("rows", f"At most {MOST_ROWS} rows, each once.")

    def _check_text(self) -> None:
        if not 0 <= self.start < self.end:
            raise EditRefused("start", "The selection is empty.")
        if not self.mention.strip():
            raise EditRefused(
                "mention", "Give the occurrence a name that is clear without the note."
            )
        for name, longest in (
            ("mention", LONGEST_MENTION),
            ("entered", LONGEST_ENTERED),
            ("reason", LONGEST_REASON),
        ):
            if len(getattr(self, name)) > longest:
                raise EditRefused(name, f"At most {longest} characters.")
        if self.polarity not in tuple(Polarity):
            raise EditRefused("polarity", f"One of {', '.join(Polarity)}.")
        if self.lane not in tuple(Lane):
            raise EditRefused("lane", f"One of {', '.join(Lane)}.")

    def _check_time(self) -> None:
        for name in ("time", "lower", "upper"):
            hours = getattr(self, name)
            if hours is not None and not (math.isfinite(hours) and abs(hours) <= FARTHEST_HOURS):
                raise EditRefused(name, "The time is not within 200 years of admission.")
        if not self.placed and (self.time, self.lower, self.upper) != (None, None, None):
            raise EditRefused("placed", "Only a placed occurrence can have a time.")
        for low, high, field in (
            ("lower", "time", "lower"),
            ("time", "upper", "upper"),
            ("lower", "upper", "lower"),
        ):
            first, second = getattr(self, low), getattr(self, high)
            if first is not None and second is not None and first > second:
                raise EditRefused(field, "The time is outside these bounds.")

    @property
    def order(self) -> tuple[int, int, str]:
        """Place in the document: as the note reads."""
        return (self.start, self.end, self.uid)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the edit log keeps them."""
        return {**asdict(self), "context": list(self.context), "rows": list(self.rows)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DraftOccurrence:
        """The inverse of `to_dict`."""
        return cls(**{**data, "context": tuple(data["context"]), "rows": tuple(data["rows"])})
