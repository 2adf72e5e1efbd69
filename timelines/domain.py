"""The values that stages of a reconstruction exchange.

They are frozen and check themselves. No Django here: a notebook can import this module. Times are
hours from admission (t = 0, negative before it); offsets are Unicode code points into the note
exactly as it is stored, end-exclusive. Source: protocol sections 1 and 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Literal

HOUR = 1.0
DAY = 24.0
WEEK = 168.0
MONTH = 720.0
YEAR = 8760.0

#: Two times are the same below max(hours, share of the larger distance from admission) (protocol
#: section 4, "Stages").
LEAST_TOLERANCE = 3.0
TOLERANCE_SHARE = 0.1

MAX_CONTEXT = 5
UID_PATTERN = re.compile(r"[0-9a-f]{4}")


class InvariantError(ValueError):
    """A value that would violate an invariant of the protocol.

    The message names the invariant and the UID.
    """


def tolerance(first: float, second: float) -> float:
    """Return the hours from which two times differ."""
    return max(LEAST_TOLERANCE, TOLERANCE_SHARE * max(abs(first), abs(second)))


def differs(first: float | None, second: float | None) -> bool:
    """Return whether two times (hours) differ beyond tolerance.

    A time and a missing time always differ.
    """
    if first is None or second is None:
        return first is not second
    return abs(first - second) >= tolerance(first, second)


class Polarity(StrEnum):
    """Whether an occurrence happened to the patient.

    `planned` includes instructions; `family` is the history of a relative.
    """

    PRESENT = "present"
    ABSENT = "absent"
    PLANNED = "planned"
    FAMILY = "family"

    @property
    def denied(self) -> bool:
        return self is Polarity.ABSENT


class Lane(StrEnum):
    """The kind of an occurrence; one lane group of the plot each."""

    HISTORY = "history"
    FINDING = "finding"
    LAB = "lab"
    MEDICATION = "medication"
    PROCEDURE = "procedure"
    TRANSFER = "transfer"
    PLAN = "plan"


class TimeKind(StrEnum):
    """The clinical act of a structured time.

    An order is not an administration (protocol stage 6).
    """

    COLLECTION = "collection"
    RESULT = "result"
    ORDER = "order"
    ADMINISTRATION = "administration"
    PERFORMED = "performed"
    CHARTED = "charted"
    ADMINISTRATIVE = "administrative"
    UNKNOWN = "unknown"


class RowLink(StrEnum):
    """How a time was linked to the rows that it rests on (protocol stage 6)."""

    #: The model named the row's number.
    CITED = "cited"
    #: The model names no rows (published preset): the hour of the row equals the time.
    INFERRED = "inferred"
    #: A rule matched the row with the occurrence.
    MATCHED = "matched"


class CitedAs(StrEnum):
    """How a time was linked to one of its rows, as pages and exports say it.

    A model may cite any row that it saw, also one found for another occurrence.
    """

    CITED = "cited"
    CITED_ELSEWHERE = "cited_elsewhere"
    INFERRED = "inferred"
    MATCHED = "matched"


def cited_as(link: str | None, *, own: bool) -> CitedAs | None:
    """Return how one row was linked; `own`: found for the occurrence itself.

    None if the link is not known.
    """
    if not link:
        return None
    if link == RowLink.CITED and not own:
        return CitedAs.CITED_ELSEWHERE
    return CitedAs(link)


class NoRows(StrEnum):
    """Why no row reached an occurrence (protocol stage 5)."""

    NONE_FOUND = "none found"
    BELOW_THRESHOLD = "below threshold"
    OVER_BUDGET = "over budget"


class TimelineKind(StrEnum):
    TEXT_ONLY = "text_only"
    REVISED = "revised"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class TaggedSpan:
    """The output of a tagger: one event occurrence, before it has a UID.

    `start`/`end` are code points, end-exclusive. `mention` is complete: a reader who sees nothing
    else knows which occurrence is meant. Spans may nest and overlap.
    """

    start: int
    end: int
    mention: str
    polarity: Polarity = Polarity.PRESENT
    lane: Lane = Lane.FINDING

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InvariantError(f"span [{self.start}, {self.end}) is empty or reversed")
        if not self.mention.strip():
            raise InvariantError(f"span [{self.start}, {self.end}) has an empty mention")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence with its persistent identifier.

    One UID is one occurrence, not a concept. `start`/`end` are None only in imported inventories
    whose mention could not be located.
    """

    uid: str
    ordinal: int
    mention: str
    start: int | None
    end: int | None
    polarity: Polarity = Polarity.PRESENT
    lane: Lane = Lane.FINDING

    def __post_init__(self) -> None:
        if not UID_PATTERN.fullmatch(self.uid):
            raise InvariantError(f"UID {self.uid!r} is not four lower-case hex digits")
        if (self.start is None) != (self.end is None):
            raise InvariantError(f"UID {self.uid}: a span has both ends or none")
        if self.start is not None and self.end is not None and not 0 <= self.start < self.end:
            raise InvariantError(
                f"UID {self.uid}: span [{self.start}, {self.end}) is empty or reversed"
            )


@dataclass(frozen=True)
class Inventory:
    """All occurrences of one note in order; UIDs are unique.

    It never changes after stage 2.
    """

    occurrences: tuple[Occurrence, ...]

    def __post_init__(self) -> None:
        uids = [o.uid for o in self.occurrences]
        if len(set(uids)) != len(uids):
            twice = sorted({u for u in uids if uids.count(u) > 1})
            raise InvariantError(f"UIDs occur twice in one case: {', '.join(twice)}")
        if [o.ordinal for o in self.occurrences] != list(range(len(self.occurrences))):
            raise InvariantError("ordinals must count 0, 1, 2, … in inventory order")

    @cached_property
    def by_uid(self) -> dict[str, Occurrence]:
        return {o.uid: o for o in self.occurrences}

    @property
    def uids(self) -> tuple[str, ...]:
        return tuple(o.uid for o in self.occurrences)

    def __len__(self) -> int:
        return len(self.occurrences)

    def __iter__(self) -> Iterator[Occurrence]:
        return iter(self.occurrences)


@dataclass(frozen=True, slots=True)
class NotePart:
    """One note of a chart: `[start, end)` of the chart's text.

    `written` is in hours from admission; None if nobody says when.
    """

    start: int
    end: int
    kind: str
    written: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InvariantError(f"part [{self.start}, {self.end}) is empty or reversed")


@dataclass(frozen=True)
class TaggedNote:
    """The clean note (exactly as stored) with its inventory.

    Spans must be inside the note. A chart, several notes of a stay in one text, has `parts`.
    """

    text: str
    inventory: Inventory
    parts: tuple[NotePart, ...] = ()

    def __post_init__(self) -> None:
        for o in self.inventory:
            if o.end is not None and o.end > len(self.text):
                raise InvariantError(
                    f"UID {o.uid}: span ends at {o.end}, the note at {len(self.text)}"
                )


@dataclass(frozen=True, slots=True)
class Anchor:
    """The moment t = 0.

    The clock time of admission, or of the earliest documented presentation.
    """

    at: datetime
    kind: Literal["admission", "presentation"] = "admission"

    def hours(self, when: datetime) -> float:
        """Naive local clock time → hours from the anchor."""
        return (when - self.at).total_seconds() / 3600.0

    def clock(self, hours: float) -> datetime | None:
        """Hours from the anchor → naive clock time; None outside the calendar."""
        try:
            return self.at + timedelta(hours=hours)
        except OverflowError:
            return None


@dataclass(frozen=True, slots=True)
class Window:
    """Admission to discharge.

    `discharge` is hours from admission, None if not recorded.
    """

    anchor: Anchor
    discharge: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """When one occurrence happened, according to one timeline.

    `time`, `lower`, `upper` in hours from admission; `time` None means N/A. If all three are
    numbers, lower ≤ time ≤ upper. `known` is True for an absolute time or an explicit relation to t
    = 0, None for an imported time whose file does not say. `context` has at most five UIDs in order
    of relevance. `decided_by` names the rule or model that decided, and `reason` explains it in a
    clinician's words.
    """

    uid: str
    time: float | None
    lower: float | None = None
    upper: float | None = None
    known: bool | None = False
    context: tuple[str, ...] = ()
    decided_by: str = ""
    reason: str = ""
    #: row_index of the evidence rows that this time rests on (revised timelines only).
    adopted_rows: tuple[int, ...] = ()
    #: The source's confidence, on its own scale; None if it gives none.
    confidence: float | None = None
    #: row_index of rows of other things that the time leans on.
    near_rows: tuple[int, ...] = ()
    #: How `adopted_rows` were linked; None without rows, or if an imported file does not say.
    link: RowLink | None = None

    def __post_init__(self) -> None:
        for name in ("time", "lower", "upper"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise InvariantError(f"UID {self.uid}: {name} is not a finite number")
        if self.time is not None:
            if self.lower is not None and self.lower > self.time:
                raise InvariantError(
                    f"UID {self.uid}: lower bound {self.lower} is after the time {self.time}"
                )
            if self.upper is not None and self.upper < self.time:
                raise InvariantError(
                    f"UID {self.uid}: upper bound {self.upper} is before the time {self.time}"
                )
        elif self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise InvariantError(
                f"UID {self.uid}: bounds [{self.lower}, {self.upper}] are reversed"
            )
        if len(self.context) > MAX_CONTEXT:
            raise InvariantError(
                f"UID {self.uid}: {len(self.context)} context UIDs, at most {MAX_CONTEXT}"
            )
        if len(set(self.context)) != len(self.context) or self.uid in self.context:
            raise InvariantError(f"UID {self.uid}: context UIDs must be distinct others")


@dataclass(frozen=True)
class Timeline:
    """One complete timeline: exactly one entry for each UID.

    Entries are in the order of its inventory.
    """

    entries: tuple[Entry, ...]
    kind: TimelineKind = TimelineKind.TEXT_ONLY
    alternative: int = 1
    #: What the model wrote about it before its rows; empty without a model.
    reasoning: str = ""

    @classmethod
    def complete(
        cls,
        inventory: Inventory,
        entries: Sequence[Entry],
        kind: TimelineKind,
        alternative: int = 1,
        reasoning: str = "",
    ) -> Timeline:
        """Order `entries` by inventory and check completeness.

        Raises InvariantError naming missing, repeated or unknown UIDs (in entries or contexts).
        """
        by_uid: dict[str, Entry] = {}
        for entry in entries:
            if entry.uid in by_uid:
                raise InvariantError(f"UID {entry.uid} has two entries")
            by_uid[entry.uid] = entry
        known = set(inventory.uids)
        missing = [u for u in inventory.uids if u not in by_uid]
        unknown = sorted((set(by_uid) | {c for e in entries for c in e.context}) - known)
        if missing or unknown:
            parts = []
            if missing:
                parts.append(f"missing UIDs {', '.join(missing[:20])}")
            if unknown:
                parts.append(f"unknown UIDs {', '.join(unknown[:20])}")
            raise InvariantError("; ".join(parts))
        return cls(tuple(by_uid[u] for u in inventory.uids), kind, alternative, reasoning)

    @cached_property
    def by_uid(self) -> dict[str, Entry]:
        return {e.uid: e for e in self.entries}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class Query:
    """One retrieval query of an occurrence; `ordinal` 0…2."""

    uid: str
    ordinal: int
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A series summary that a query returned. Selected or not, it is stored.

    `dense_rank` counts from 1; `dense_score` is a cosine; `rerank_score` None without a reranker;
    `fate` says why it was selected or rejected.
    """

    uid: str
    query: int
    event: str
    dense_rank: int
    dense_score: float
    rerank_score: float | None = None
    kept: bool = False
    fate: str = ""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row of the structured record.

    `time` in hours from admission; None for rows without a time.
    """

    row_index: int
    time: float | None
    event: str
    value: str = ""
    unit: str = ""
    source: str = ""
    time_kind: TimeKind = TimeKind.UNKNOWN
    numeric_value: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A source row that reached an occurrence.

    It has the query and candidate that returned it. `series` is the candidate's event if the row is
    of another series: the start or the end of the same infusion, order or procedure.
    """

    uid: str
    query: int
    row: SourceRow
    dense_rank: int
    dense_score: float
    rerank_score: float | None = None
    series: str = ""

    @property
    def found_in(self) -> str:
        """The event of the candidate through which the row came."""
        return self.series or self.row.event

    @property
    def relevance(self) -> float:
        """ρ if a reranker gave one, else the cosine."""
        return self.dense_score if self.rerank_score is None else self.rerank_score


@dataclass(frozen=True)
class Expansion:
    """The rows that revision sees, by inventory and relevance.

    `skeleton` are the rows of the stay itself; `without_evidence` says for each UID that no row
    reached why. `over_budget` are the row indices that were chosen for a UID and left out because
    the budget was spent.
    """

    evidence: tuple[Evidence, ...]
    without_evidence: Mapping[str, NoRows] = field(default_factory=dict)
    skeleton: tuple[SourceRow, ...] = ()
    over_budget: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def by_index(self) -> dict[int, SourceRow]:
        """Every row that revision sees, once."""
        rows = [*self.skeleton, *(item.row for item in self.evidence)]
        return {row.row_index: row for row in rows}


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """A series summary that reached an occurrence.

    It is used if revision sees no rows, and has its words and its retrieval scores.
    """

    uid: str
    query: int
    event: str
    text: str
    dense_rank: int
    dense_score: float
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A line of a timeline without identifiers: an event and its time.

    The event is named only by its own words. Times, rows and link as in `Entry`. Nothing links the
    line to an occurrence, so it has no context.
    """

    event: str
    time: float | None
    lower: float | None = None
    upper: float | None = None
    known: bool | None = False
    decided_by: str = ""
    reason: str = ""
    #: The source's confidence, on its own scale; None if it gives none.
    confidence: float | None = None
    adopted_rows: tuple[int, ...] = ()
    near_rows: tuple[int, ...] = ()
    link: RowLink | None = None

    def __post_init__(self) -> None:
        if not self.event.strip():
            raise InvariantError("a line names no event")
        bounds = [v for v in (self.lower, self.time, self.upper) if v is not None]
        if not all(math.isfinite(v) for v in bounds):
            raise InvariantError("a time or bound is not a finite number")
        if bounds != sorted(bounds):
            raise InvariantError("the bounds do not contain the time")


@dataclass(frozen=True)
class NamedTimeline:
    """A timeline without identifiers: its lines, in its order.

    It is of a baseline, or of a revision that saw no identifiers.
    """

    entries: tuple[NamedTime, ...]
    alternative: int = 1
    kind: TimelineKind = TimelineKind.REVISED
    #: What the model wrote about it before its lines; empty without a model.
    reasoning: str = ""

    def __iter__(self) -> Iterator[NamedTime]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A source row with the words of the occurrence that it reached.

    A revision without identifiers uses it. `relevance` is ρ of the series, or its cosine if nothing
    reranked.
    """

    event: str
    row: SourceRow
    relevance: float


@dataclass(frozen=True)
class Reconstruction:
    """Everything the seven stages produced for one case.

    It includes the chain of provenance. `summaries` replace `evidence` if revision saw no rows,
    `unidentified` replaces `revised` if it saw no identifiers. `skeleton` are the rows of the stay
    itself, which revision sees next to what was found; `without_evidence` says for each UID without
    rows why, if the run recorded it.
    """

    note: TaggedNote
    text_only: Timeline
    queries: tuple[Query, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    revised: tuple[Timeline, ...] = ()
    without_evidence: Mapping[str, NoRows] = field(default_factory=dict)
    summaries: tuple[KeptSummary, ...] = ()
    unidentified: tuple[NamedTimeline, ...] = ()
    skeleton: tuple[SourceRow, ...] = ()
