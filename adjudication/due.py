"""Say by when a packet's review is due. No Django here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Due:
    """A due date as pages show it."""

    words: str
    overdue: bool


def describe_due(due_on: date | None, today: date) -> Due | None:
    """Return "due in 3 days", "due today" or "overdue since …"; None for None."""
    if due_on is None:
        return None
    days = (due_on - today).days
    if days < 0:
        return Due(f"overdue since {due_on.isoformat()}", overdue=True)
    named = {0: "due today", 1: "due tomorrow"}
    return Due(named.get(days, f"due in {days} days"), overdue=False)
