"""Values that actions and pages of windows share. No Django here."""

from __future__ import annotations

from dataclasses import dataclass

#: The answers, in the order of tables; "" is a stay without a timeline from the source.
STATUSES = ("yes", "uncertain", "no", "")


class WindowRefused(ValueError):
    """Something cannot be done with a window; the message says what to do."""

    log_safe = True
    retryable = False


@dataclass(frozen=True, slots=True)
class Decider:
    """What decides a stay's answer, as a result stores it.

    `entry` is the primary key of an entry and `row_index` the row that its time rests on; either
    may be None.
    """

    concept: str
    entry: int | None
    row_index: int | None
    text: str
