"""The input and output of every reader of foreign timelines.

Cases to point into, complete timelines, faults that quote nothing. No Django here. Times are hours
from the encounter's anchor; offsets code points of our note, end-exclusive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from timelines.domain import Anchor, Lane, Polarity, TimelineKind


@dataclass(frozen=True, slots=True)
class Fault:
    """Something unusable: its place and why.

    `field` is a path or name of the format, never its content.
    """

    file: str
    line: int | None
    field: str
    reason: str

    def words(self) -> str:
        """`file, line 3, time: neither a number of hours nor N/A`."""
        place = [
            self.file,
            *([f"line {self.line}"] if self.line else []),
            *([self.field] if self.field else []),
        ]
        return f"{', '.join(place)}: {self.reason}"


class Unreadable(ValueError):
    """A value that cannot be read; becomes a Fault once its place is known."""

    def __init__(self, field: str, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.field, self.reason, self.line = field, reason, line

    def make_fault(self, file: str, line: int | None = None) -> Fault:
        return Fault(file, self.line or line, self.field, self.reason)


@dataclass(frozen=True, slots=True)
class Heading:
    """The timeline that a line belongs to, according to its file.

    `case` is a case id or the name of a file.
    """

    case: str
    source: str | None = None
    kind: TimelineKind | None = None
    alternative: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    r"""One occurrence and when it happened.

    `mention` is as inventories store it (`\`, `|`, `"` escaped, on one line). `uid` is None if the
    file gives none; then `context` and `rows` are empty or name the file's own identifiers.
    """

    mention: str
    start: int | None = None
    end: int | None = None
    time: float | None = None
    lower: float | None = None
    upper: float | None = None
    known: bool | None = None
    confidence: float | None = None
    polarity: Polarity = Polarity.PRESENT
    lane: Lane = Lane.FINDING
    uid: str | None = None
    context: tuple[str, ...] = ()
    decided_by: str = ""
    reason: str = ""
    rows: tuple[int, ...] = ()
    #: Whether the file says polarity and lane; otherwise the vocabulary infers them.
    polarity_given: bool = field(default=True, compare=False)
    lane_given: bool = field(default=True, compare=False)
    #: The file does not state places, so the mention's is searched for (`locating`); False if the
    #: file says that there is none.
    sought: bool = False


@dataclass(frozen=True, slots=True)
class Foreign:
    """One whole timeline of one of our cases, in the order of its file."""

    file: str
    heading: Heading
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """The facts of one of our cases that a reader needs."""

    case_id: str
    note: str
    anchor: Anchor


#: Finds a case by its id or by the name that an export gives its file; None if the dataset has
#: none.
Cases = Callable[[str], CaseFacts | None]

UNKNOWN_CASE = (
    "the dataset has no case of that name; name the file, or fill case_id, by the case's id"
)
NO_CASE = "no case is named; add a case_id, or name the file by the case's id"
EMPTY = "no events; an empty timeline cannot be imported, remove the file"
