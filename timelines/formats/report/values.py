"""A stay on one page: its header, its story and its events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Milestone:
    """A step of the story: when, and what happened, in words."""

    when: str
    words: str


@dataclass(frozen=True, slots=True)
class ReportRow:
    """An event of the table.

    `hours` is from admission, None if it is not placed. Events of lower `rank` are printed first
    if not all have room.
    """

    hours: float | None
    when: str
    beside: str
    mark: str
    event: str
    source: str
    rank: int


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the page shows. `rows` are in order of time."""

    title: str
    facts: str
    story: tuple[Milestone, ...]
    rows: tuple[ReportRow, ...]
    legend: str
    footer: str
