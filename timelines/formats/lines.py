"""One occurrence of one timeline, with the rows its time rests on.

Every export consists of them. No Django here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


class Stay(Protocol):
    """The facts of a case that a format needs.

    Its id, the patient's key, and clock times of admission and discharge.
    """

    @property
    def case_id(self) -> str: ...
    @property
    def subject_key(self) -> str: ...
    @property
    def admitted_at(self) -> datetime: ...
    @property
    def discharged_at(self) -> datetime | None: ...


@dataclass(frozen=True)
class Cited:
    """A row that a time rests on.

    Query and scores are None if no search returned it (references, rows of the stay itself). `link`
    says how the time was linked to it; empty if unknown.
    """

    row_index: int
    event: str
    value: str
    unit: str
    hours: float
    time_kind: str
    query: str | None = None
    dense_rank: int | None = None
    dense_score: float | None = None
    rerank_score: float | None = None
    link: str = ""


@dataclass(frozen=True)
class Line:
    """One occurrence of one timeline.

    `mention` is complete; a source without an inventory has its event text there.
    """

    case_id: str
    source: str
    kind: str
    alternative: int
    uid4: str | None
    mention: str
    start: int | None
    end: int | None
    time: float | None
    lower: float | None
    upper: float | None
    known: bool | None
    context: tuple[str, ...]
    evidence: tuple[Cited, ...]
    polarity: str
    lane: str
    span_text: str | None
    #: All rows that the time rests on, also those that `evidence` leaves out.
    rows: tuple[int, ...] = ()
    reason: str = ""
    decided_by: str = ""
    confidence: float | None = None
    #: Rows of other things that the time leans on.
    near_rows: tuple[int, ...] = ()
    #: Occurrences of other notes of a chart that are the same event.
    linked: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseLines:
    """All chosen timelines of one case, each complete, in order."""

    encounter: Stay
    note: str | None
    timelines: tuple[tuple[Line, ...], ...]

    @property
    def lines(self) -> Iterator[Line]:
        for timeline in self.timelines:
            yield from timeline


def line_values(line: Line, *, with_note_text: bool) -> dict[str, Any]:
    """Return the line as plain values, in the documented order.

    See `timelines.formats.dictionary`.
    """
    values: dict[str, Any] = {
        "case_id": line.case_id,
        "source": line.source,
        "kind": line.kind,
        "alternative": line.alternative,
        "uid4": line.uid4,
        "mention": line.mention,
        "start": line.start,
        "end": line.end,
        "time": line.time,
        "lower": line.lower,
        "upper": line.upper,
        "known": None if line.known is None else int(line.known),
        "context": list(line.context),
        "evidence": [vars(c) for c in line.evidence],
        "polarity": line.polarity or None,
        "lane": line.lane or None,
        "rows": list(line.rows),
        "reason": line.reason,
        "decided_by": line.decided_by,
        "confidence": line.confidence,
        "near_rows": list(line.near_rows),
    }
    return {**values, "span_text": line.span_text} if with_note_text else values


def json_values(line: Line, *, with_note_text: bool) -> dict[str, Any]:
    """Return the line as an object of JSON.

    `linked` is there only if the event is in several notes of a chart.
    """
    values = line_values(line, with_note_text=with_note_text)
    return {**values, "linked": list(line.linked)} if line.linked else values
