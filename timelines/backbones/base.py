"""A backbone is four stages; nothing outside it knows which one ran (architecture, "A backbone is four stages")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from timelines.domain import Anchor, Evidence, TaggedNote, TaggedSpan, Timeline, Window


class Tagger(Protocol):
    def tag(self, note: str) -> Sequence[TaggedSpan]:
        """Every event occurrence of the note, in order of start; offsets in code points of `note`."""
        ...


class TextTimer(Protocol):
    def infer(self, note: TaggedNote, anchor: Anchor) -> Timeline:
        """A complete text-only timeline. Sees the note and the clock time of t = 0, never a row."""
        ...


class QueryWriter(Protocol):
    def write(self, note: TaggedNote) -> Mapping[str, Sequence[str]]:
        """1–3 queries per UID, in order of importance. A missing UID falls back to its mention."""
        ...


class Reviser(Protocol):
    def revise(
        self, note: TaggedNote, text_only: Timeline, evidence: Sequence[Evidence], window: Window, alternatives: int
    ) -> Sequence[Timeline]:
        """Exactly `alternatives` complete timelines; the first is primary. No UID is added, lost or renamed."""
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
    #: Rows an occurrence may carry into revision, and rows a case may (None: no cap). Protocol stage 5.
    max_rows_per_occurrence: int | None = None
    max_rows_per_case: int | None = 100
