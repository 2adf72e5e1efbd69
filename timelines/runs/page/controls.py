"""The controls of a run's page: buttons, and filters of its list."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunAction:
    """A button; `why_not` says why it is off."""

    name: str
    label: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to narrow the cases of a run, with how many it leaves."""

    value: str
    label: str
    count: int
