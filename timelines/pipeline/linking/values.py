"""Links between occurrences of different notes of a chart."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from timelines.domain import InvariantError, Inventory, NotePart, TaggedNote, Timeline


class Decider(StrEnum):
    """Who decided that two occurrences are the same event."""

    RULES = "rules"
    MODEL = "model"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two occurrences of different notes that may be the same event.

    They are UIDs, in inventory order. `similarity` is the cosine of their mentions.
    """

    first: str
    second: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Link:
    """Two occurrences of different notes that are the same event.

    `reason` is in a clinician's words. Of links that exclude each other the one with the highest
    `strength` remains.
    """

    first: str
    second: str
    reason: str
    decided_by: Decider = Decider.RULES
    strength: float = 0.0

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise InvariantError(f"UID {self.first}: linked with itself")
        if not self.reason:
            raise InvariantError(f"UID {self.first}: a link has a reason")


class Linker(Protocol):
    """The part of a backbone that only a chart needs."""

    def find_links(
        self, note: TaggedNote, timeline: Timeline, pairs: Sequence[Pair]
    ) -> Sequence[Link]:
        """Return the pairs that are the same event, each with its reason.

        It sees the chart and the times of its notes, never a row.
        """
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """An occurrence of a chart with the note that it is in.

    `part` is the note's place in the chart, `note` names it for a reason.
    """

    uid: str
    mention: str
    part: int
    note: str
    written: float | None


def find_part(parts: Sequence[NotePart], start: int | None) -> int | None:
    """Return the place of the note in which a character of a chart is.

    `parts` are in order. None for a character between notes.
    """
    if start is None:
        return None
    at = bisect_right(parts, start, key=lambda part: part.start) - 1
    return at if at >= 0 and start < parts[at].end else None


def find_members(inventory: Inventory, parts: Sequence[NotePart]) -> Mapping[str, Member]:
    """Return the occurrences that are in a note of the chart, by UID."""
    found = {}
    for o in inventory:
        at = find_part(parts, o.start)
        if at is not None:
            part = parts[at]
            found[o.uid] = Member(o.uid, o.mention, at, name_note(part), part.written)
    return found


def name_note(part: NotePart) -> str:
    """Return "progress note written at 20.0 h"."""
    return part.kind if part.written is None else f"{part.kind} written at {part.written:.1f} h"
