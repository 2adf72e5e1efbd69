"""A small case with every link known, and a scripted backbone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from llm_runtime.base import Vectors
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.scripted import HashingEmbedder
from tests.unit.timelines.pipeline.scripted_reranker import ScriptedReranker
from timelines.domain import (
    Anchor,
    Entry,
    Expansion,
    SourceRow,
    TaggedNote,
    TaggedSpan,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.run import Case, Record, Tools

NOTE = "She took apixaban. The reversal agent was given at once.\r\nLactate 4.1 😀 was noted."
ANDEXANET = "med:andexanet alfa:administered"
LACTATE = "lab:lactate:blood"
WINDOW = Window(Anchor(datetime(2150, 3, 1, 10, 0)), discharge=48.0)


def span(quote: str, mention: str) -> TaggedSpan:
    """The span of a quote of the note."""
    start = NOTE.index(quote)
    return TaggedSpan(start, start + len(quote), mention)


class ScriptedBackbone:
    """All four stages.

    Times from the text are 1, 2, 3, … hours; each occurrence with evidence moves to its first row.
    """

    def __init__(self, *spans: TaggedSpan) -> None:
        self.spans = spans
        self.calls: list[str] = []
        self.names: tuple[str, ...] = ()

    def tag(self, note: str, kind: str = "") -> Sequence[TaggedSpan]:
        self.calls.append("tag")
        return self.spans

    def infer(self, note: TaggedNote, anchor: Anchor, discharge: float | None = None) -> Timeline:
        self.calls.append("infer")
        entries = [
            Entry(o.uid, float(o.ordinal + 1), o.ordinal, o.ordinal + 2.0, decided_by="script")
            for o in note.inventory
        ]
        return Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)

    def write(self, note: TaggedNote, names: Sequence[str] = ()) -> dict[str, list[str]]:
        self.calls.append("write")
        self.names = tuple(names)
        return {o.uid: ["andexanet alfa"] for o in note.inventory if "reversal" in o.mention}

    def revise(
        self,
        note: TaggedNote,
        text_only: Timeline,
        found: Expansion,
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        self.calls.append("revise")
        rows: dict[str, SourceRow] = {}
        for item in found.evidence:
            rows.setdefault(item.uid, item.row)
        entries = [self._moved(e, rows.get(e.uid)) for e in text_only]
        return [
            Timeline.complete(note.inventory, entries, TimelineKind.REVISED, n)
            for n in range(1, alternatives + 1)
        ]

    def _moved(self, entry: Entry, row: SourceRow | None) -> Entry:
        if row is None or row.time is None:
            return entry
        return Entry(
            entry.uid,
            row.time,
            row.time,
            row.time,
            known=True,
            decided_by="script",
            adopted_rows=(row.row_index,),
        )

    def backbone(self) -> Backbone:
        return Backbone("scripted", "1", tagger=self, timer=self, query_writer=self, reviser=self)


class NumpySearch:
    """Exact search over the embedded summaries."""

    def __init__(self, summaries: dict[str, str]) -> None:
        self._events = sorted(summaries)
        self._vectors = run_blocking(
            HashingEmbedder().embed_documents([summaries[e] for e in self._events])
        )

    def top_k(self, queries: Vectors, k: int) -> list[list[tuple[str, float]]]:
        scores = queries @ self._vectors.T
        return [
            [(self._events[i], float(row[i])) for i in np.argsort(-row, kind="stable")[:k]]
            for row in scores
        ]


SUMMARIES = {ANDEXANET: "andexanet alfa administered", LACTATE: "lactate blood 4.1"}
ROWS = {
    ANDEXANET: [SourceRow(7, 6.5, ANDEXANET, "880", "mg", time_kind=TimeKind.ADMINISTRATION)],
    LACTATE: [
        SourceRow(3, 1.0, LACTATE, "4.1", time_kind=TimeKind.COLLECTION),
        SourceRow(9, 61.0, LACTATE, "4.1"),
    ],
}


def case() -> Case:
    return Case(NOTE, WINDOW)


def record() -> Record:
    return Record(SUMMARIES, ROWS, NumpySearch(SUMMARIES))


def script() -> ScriptedBackbone:
    return ScriptedBackbone(
        span("apixaban", "apixaban taken"),
        span("reversal agent", "reversal agent given"),
        span("Lactate 4.1 😀", 'lactate "4.1"'),
    )


def tools(
    backbone: ScriptedBackbone, variant: Variant = Variant.FULL, alternatives: int = 2
) -> Tools:
    """A reranker that believes in equal first words only."""
    reranker = ScriptedReranker(
        lambda query, document: 1.0 if query.split()[0] == document.split()[0] else 0.0
    )
    config = PipelineConfig(variant=variant, alternatives=alternatives)
    return Tools(backbone.backbone(), HashingEmbedder(), reranker, config)
