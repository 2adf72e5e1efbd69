"""The whole reconstruction of one case. A notebook calls `reconstruct`; the task layer runs the same seven stages one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from llm_runtime.base import Embedder, Reranker
from timelines.backbones.base import Backbone
from timelines.domain import Candidate, Inventory, Query, Reconstruction, SourceRow, TaggedNote, TaggedSpan, Timeline, Window
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.expansion import Caps, Expansion, expand
from timelines.pipeline.provenance import verify
from timelines.pipeline.queries import complete_queries
from timelines.pipeline.retrieval import SeriesSearch, retrieve
from timelines.pipeline.revision import revise
from timelines.pipeline.tagging import tag
from timelines.pipeline.text_inference import infer
from timelines.pipeline.uids import assign_uids, uid_rng


@dataclass(frozen=True)
class Case:
    """The note exactly as stored, and the stay it belongs to."""

    note: str
    window: Window

    @cached_property
    def sha256(self) -> str:
        """Of the UTF-8 note."""
        return hashlib.sha256(self.note.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Record:
    """The structured record of one encounter: event → retrieval summary, event → rows, and its vector search."""

    summaries: Mapping[str, str]
    rows: Mapping[str, Sequence[SourceRow]]
    search: SeriesSearch


@dataclass(frozen=True)
class Tools:
    """What the stages work with; `reranker` None means cosine order alone."""

    backbone: Backbone
    embedder: Embedder
    reranker: Reranker | None
    config: PipelineConfig


def reconstruct(case: Case, record: Record, tools: Tools) -> Reconstruction:
    """Note and record → both timelines and the chain behind every time. Raises the error of the stage that failed.

    Variant `unimodal` stops after the text-only timeline.
    """
    spans = tag(tools.backbone.tagger, case.note)
    note = TaggedNote(case.note, identify(case, spans, tools))
    text_only = infer(tools.backbone.timer, note, case.window.anchor)
    if tools.config.variant is Variant.UNIMODAL:
        return verified(Reconstruction(note, text_only), case, tools)
    queries = write_queries(note, tools)
    candidates = search(queries, record, tools)
    found = expand_rows(note.inventory, text_only, candidates, record, case.window, tools)
    revised = revise(tools.backbone.reviser, note, text_only, found.evidence, case.window, alternatives=tools.config.alternatives)
    return verified(Reconstruction(note, text_only, queries, candidates, found.evidence, revised, found.without_evidence), case, tools)


def identify(case: Case, spans: Sequence[TaggedSpan], tools: Tools) -> Inventory:
    """Stage 2; seeded by the run's seed and the note, so that a repeated run gives the same identifiers."""
    return assign_uids(spans, rng=uid_rng(tools.config.seed, case.sha256))


def write_queries(note: TaggedNote, tools: Tools) -> tuple[Query, ...]:
    """Stage 4, its queries."""
    return complete_queries(note.inventory, tools.backbone.query_writer.write(note), tools.config)


def search(queries: Sequence[Query], record: Record, tools: Tools) -> tuple[Candidate, ...]:
    """Stage 4, what the queries bring back. Queries do not influence each other, so any part of them can be searched by itself."""
    return retrieve(queries, record.summaries, embedder=tools.embedder, search=record.search, reranker=tools.reranker, config=tools.config)


def expand_rows(
    inventory: Inventory, text_only: Timeline, candidates: Sequence[Candidate], record: Record, window: Window, tools: Tools
) -> Expansion:
    """Stage 5; a backbone that does not pay for context has no case cap, every other one has the run's."""
    caps = Caps(tools.backbone.max_rows_per_occurrence, None if tools.backbone.max_rows_per_case is None else tools.config.case_row_cap)
    return expand(inventory, text_only, candidates, record.rows, discharge=window.discharge, caps=caps, config=tools.config)


def verified(result: Reconstruction, case: Case, tools: Tools) -> Reconstruction:
    """Stage 7: the same result, every link of its chain verified. Raises BrokenChain."""
    discharge = case.window.discharge
    verify(result, note_sha256=case.sha256, latest=None if discharge is None else discharge + tools.config.discharge_grace_hours)
    return result
