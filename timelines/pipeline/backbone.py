"""A backbone is four stages; other code does not depend on which one.

Architecture, "A backbone is four stages".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from timelines.domain import (
    Anchor,
    Expansion,
    KeptSummary,
    NamedRow,
    NamedTime,
    NamedTimeline,
    NoRows,
    TaggedNote,
    TaggedSpan,
    Timeline,
    Window,
)
from timelines.pipeline.linking.values import Linker

#: Raises if the work must end (cancelled, out of time). Long work calls it at least about once a
#: second.
Check = Callable[[], None]


def never_stop() -> None:
    """Let the work go on: the check of work that nobody interrupts."""


def no_limit() -> None:
    """Return that rows may take any number of tokens."""


class Tagger(Protocol):
    def tag(self, note: str, kind: str = "") -> Sequence[TaggedSpan]:
        """Return every event occurrence of the note, in order of start.

        Offsets are code points of `note`. `kind` is that of a note of a chart, "" for any other.
        """
        ...


class TextTimer(Protocol):
    def infer(self, note: TaggedNote, anchor: Anchor, discharge: float | None = None) -> Timeline:
        """Return a complete text-only timeline.

        It sees the note, the clock time of t = 0 and the hour of discharge, never a row.
        """
        ...


class QueryWriter(Protocol):
    def write(self, note: TaggedNote, names: Sequence[str] = ()) -> Mapping[str, Sequence[str]]:
        """Return 1–3 queries for each UID, in order of importance.

        A UID without queries is searched by its mention. `names` are those of the stay's series;
        there are none if the writer may see the note alone.
        """
        ...


class Reviser(Protocol):
    def revise(
        self,
        note: TaggedNote,
        text_only: Timeline,
        found: Expansion,
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        """Return one to `alternatives` complete timelines.

        The first is primary. No UID is added, lost or renamed.
        """
        ...


class SummaryReviser(Protocol):
    """The part of a backbone that only variant `no_rows` needs."""

    def revise_by_summaries(
        self,
        note: TaggedNote,
        text_only: Timeline,
        summaries: Sequence[KeptSummary],
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        """Revise by the words of series summaries instead of rows.

        It sees no row, so no time rests on one.
        """
        ...


class UnidentifiedReviser(Protocol):
    """The part of a backbone that only variant `no_uid` needs."""

    def revise_unidentified(
        self,
        note: str,
        spans: Sequence[TaggedSpan],
        table: Sequence[NamedTime],
        evidence: Sequence[NamedRow],
        missing: Mapping[str, NoRows],
        window: Window,
        alternatives: int,
    ) -> Sequence[NamedTimeline]:
        """Return one to `alternatives` timelines without identifiers.

        A line has event, time, bounds, `known` and rows; the first timeline is primary.

        `spans` and `table` (the text-only estimates) are in narrative order, one line an
        occurrence; `evidence` names the occurrence that a row reached by its mention, `missing`
        gives the reason for mentions without rows. Nothing carries an identifier, and the events of
        the answer are not compared with any.
        """
        ...


@dataclass(frozen=True, slots=True)
class Backbone:
    """Four stages under one name; `version` is recorded with every run."""

    name: str
    version: str
    tagger: Tagger
    timer: TextTimer
    query_writer: QueryWriter
    reviser: Reviser
    #: Whether rows cost context: then the run's budget or cap applies.
    pays_for_rows: bool = True
    #: Returns the tokens of printed rows that its context has room for, None without a limit of its
    #: own. It is asked when rows are chosen: only a running server knows its context.
    room_for_rows: Callable[[], int | None] = no_limit
    #: Revisers of variants; None: this backbone cannot run them.
    summary_reviser: SummaryReviser | None = None
    unidentified_reviser: UnidentifiedReviser | None = None
    #: Links the notes of a chart; None: each occurrence has its own time.
    linker: Linker | None = None
