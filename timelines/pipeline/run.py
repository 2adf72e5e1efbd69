"""The whole reconstruction of one case.

A notebook calls `reconstruct`; the task layer runs the same seven stages one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from llm_runtime.base import Embedder, Reranker
from timelines.domain import (
    Candidate,
    Evidence,
    Expansion,
    Inventory,
    KeptSummary,
    NamedTimeline,
    NoRows,
    NotePart,
    Query,
    Reconstruction,
    SourceRow,
    TaggedNote,
    TaggedSpan,
    Timeline,
    Window,
)
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.config import PipelineConfig, QueryContext, Variant
from timelines.pipeline.expansion import expand, explain_missing, find_caps
from timelines.pipeline.linking.chart import explain_alone, join_linked, link_notes
from timelines.pipeline.linking.values import Link
from timelines.pipeline.provenance import verify
from timelines.pipeline.queries import complete_queries
from timelines.pipeline.retrieval import SeriesSearch, retrieve
from timelines.pipeline.revision import revise
from timelines.pipeline.summaries import (
    revise_by_summaries,
    select_summaries,
)
from timelines.pipeline.tagging import tag
from timelines.pipeline.text_inference import infer
from timelines.pipeline.uids import InUse, assign_uids, find_identities, uid_rng
from timelines.pipeline.unidentified import revise_unidentified
from timelines.pipeline.variants import check_supported, summary_reviser, unidentified_reviser


@dataclass(frozen=True)
class Case:
    """The note exactly as stored, and the stay it belongs to.

    A chart has `parts`: the notes of the stay that it consists of.
    """

    note: str
    window: Window
    parts: tuple[NotePart, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Of the UTF-8 note."""
        return hashlib.sha256(self.note.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Record:
    """The structured record of one encounter.

    Event → retrieval summary, event → rows, and its vector search.
    """

    summaries: Mapping[str, str]
    rows: Mapping[str, Sequence[SourceRow]]
    search: SeriesSearch


@dataclass(frozen=True)
class Tools:
    """The tools of the stages; `reranker` None means cosine order alone."""

    backbone: Backbone
    embedder: Embedder
    reranker: Reranker | None
    config: PipelineConfig


def reconstruct(case: Case, record: Record, tools: Tools) -> Reconstruction:
    """Build both timelines and the chain behind every time.

    Raises the error of the stage that failed.

    Variant `unimodal` stops after the text-only timeline. Raises VariantUnsupported before any
    stage.
    """
    check_supported(tools.backbone, tools.config.variant)
    spans = tag(tools.backbone.tagger, case.note, case.parts)
    note = TaggedNote(case.note, identify(case, spans, tools), case.parts)
    alone = infer(tools.backbone.timer, note, case.window.anchor, case.window.discharge)
    links = find_links(note, alone, tools)
    text_only = join_linked(note, alone, links).timeline if links else alone
    if tools.config.variant is Variant.UNIMODAL:
        return check_chain(Reconstruction(note, text_only), case, tools)
    queries = write_queries(note, tools, list(record.summaries))
    candidates = search(queries, record, tools)
    found = expand_rows(note.inventory, text_only, candidates, record, case.window, tools)
    read = explain_alone(text_only, alone) if links else text_only
    revised = run_revision(found, note, read, case.window, tools)
    timelines = revised.timelines
    if links:
        timelines = tuple(join_linked(note, t, links, alone=alone).timeline for t in timelines)
    result = Reconstruction(
        note,
        text_only,
        queries,
        candidates,
        found.evidence,
        timelines,
        found.without_evidence,
        found.summaries,
        revised.unidentified,
        found.skeleton,
    )
    return check_chain(result, case, tools)


def find_links(note: TaggedNote, text_only: Timeline, tools: Tools) -> tuple[Link, ...]:
    """Return the links between the notes of a chart; none for any other note."""
    linker = tools.backbone.linker
    if not note.parts or linker is None:
        return ()
    batch_size = tools.config.embed_batch_size
    return link_notes(
        note, text_only, linker=linker, embedder=tools.embedder, batch_size=batch_size
    )


def identify(
    case: Case, spans: Sequence[TaggedSpan], tools: Tools, in_use: InUse | None = None
) -> Inventory:
    """Stage 2: give every span an identifier.

    Seeded by the run's seed, the note and its spans, so that a repeated run gives the same
    identifiers.

    `in_use` names the UIDs of the note's other inventories.
    """
    rng = uid_rng(tools.config.seed, case.sha256, find_identities(spans))
    return assign_uids(spans, rng=rng, in_use=in_use)


def write_queries(note: TaggedNote, tools: Tools, names: Sequence[str] = ()) -> tuple[Query, ...]:
    """Stage 4, its queries; in variant `no_query` nobody is asked for any.

    `names` are those of the stay's series. The writer sees them only if the settings say so.
    """
    seen = names if tools.config.query_context is QueryContext.NAMES else ()
    written = (
        {}
        if tools.config.variant is Variant.NO_QUERY
        else tools.backbone.query_writer.write(note, seen)
    )
    return complete_queries(note.inventory, written, tools.config)


def search(queries: Sequence[Query], record: Record, tools: Tools) -> tuple[Candidate, ...]:
    """Stage 4: find candidates for the queries.

    Queries do not influence each other, so any part of them can be searched alone.
    """
    return retrieve(
        queries,
        record.summaries,
        embedder=tools.embedder,
        search=record.search,
        reranker=tools.reranker,
        config=tools.config,
    )


@dataclass(frozen=True)
class Expanded:
    """Input of revision: rows, or in variant `no_rows` summaries.

    Also why some UIDs have neither, the rows of the stay itself, and the rows left out (UID → row
    indices).
    """

    evidence: tuple[Evidence, ...]
    summaries: tuple[KeptSummary, ...]
    without_evidence: Mapping[str, NoRows]
    skeleton: tuple[SourceRow, ...] = ()
    over_budget: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Revised:
    """Result of revision: timelines over the inventory.

    In variant `no_uid` they are timelines of events without identifiers.
    """

    timelines: tuple[Timeline, ...] = ()
    unidentified: tuple[NamedTimeline, ...] = ()


def expand_rows(
    inventory: Inventory,
    text_only: Timeline,
    candidates: Sequence[Candidate],
    record: Record,
    window: Window,
    tools: Tools,
) -> Expanded:
    """Stage 5: expand summaries to rows.

    A backbone that does not pay for context has neither budget nor cap; every other one has the
    run's.
    """
    caps = find_caps(tools.backbone, tools.config)
    if tools.config.variant is Variant.NO_ROWS:
        kept = select_summaries(inventory, candidates, record.summaries, caps)
        missing = explain_missing(inventory, candidates, kept, record.summaries)
        return Expanded((), kept, missing)
    found = expand(
        inventory,
        text_only,
        candidates,
        record.rows,
        discharge=window.discharge,
        caps=caps,
        config=tools.config,
    )
    return Expanded(found.evidence, (), found.without_evidence, found.skeleton, found.over_budget)


def run_revision(
    found: Expanded, note: TaggedNote, text_only: Timeline, window: Window, tools: Tools
) -> Revised:
    """Stage 6, in the form the variant asks for.

    Raises RevisionRejected, VariantUnsupported.
    """
    alternatives, exactly = tools.config.alternatives, tools.config.force_alternatives
    rows = Expansion(found.evidence, found.without_evidence, found.skeleton)
    if tools.config.variant is Variant.NO_ROWS:
        by_summaries = summary_reviser(tools.backbone)
        return Revised(
            revise_by_summaries(
                by_summaries,
                note,
                text_only,
                found.summaries,
                window,
                alternatives=alternatives,
                exactly=exactly,
            )
        )
    if tools.config.variant is Variant.NO_UID:
        unidentified = unidentified_reviser(tools.backbone)
        timelines = revise_unidentified(
            unidentified,
            note,
            text_only,
            rows,
            window,
            alternatives=alternatives,
            exactly=exactly,
            config=tools.config,
        )
        return Revised(unidentified=timelines)
    return Revised(
        revise(
            tools.backbone.reviser,
            note,
            text_only,
            rows,
            window,
            alternatives=alternatives,
            exactly=exactly,
            config=tools.config,
        )
    )


def check_chain(result: Reconstruction, case: Case, tools: Tools) -> Reconstruction:
    """Stage 7: return the result with every link of its chain verified.

    Raises BrokenChain.
    """
    discharge = case.window.discharge
    verify(
        result,
        note_sha256=case.sha256,
        latest=None if discharge is None else discharge + tools.config.discharge_grace_hours,
        config=tools.config,
    )
    return result
