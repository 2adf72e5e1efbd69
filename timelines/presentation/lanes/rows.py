"""Rows of the record as the lanes read them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One timed row; hours from admission."""

    hours: float
    event: str
    value: str
    number: float | None
    unit: str

    @property
    def category(self) -> str:
        return self.event.partition(":")[0]

    @property
    def act(self) -> str:
        """Return the last part of the name of three: start, end, administered, …"""
        parts = self.event.split(":")
        return parts[-1].strip().lower() if len(parts) > 2 else ""


def name_part(event: str) -> str:
    """Return the name in an event name, without its category and act."""
    parts = event.split(":")
    return ":".join(parts[1:-1] if len(parts) > 2 else parts[1:]).strip()
