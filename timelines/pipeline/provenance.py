"""Stage 7: build and verify the chain behind every time.

Span → UID → z⁰ → queries → evidence → z¹…zᴬ. The stored values are verified: the task layer reads
everything back first. Source: protocol section 2, stage 7.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from timelines.domain import (
    Candidate,
    Entry,
    Evidence,
    Expansion,
    Occurrence,
    Query,
    Reconstruction,
    SourceRow,
    TimelineKind,
)
from timelines.pipeline.config import PROTOCOL, PipelineConfig
from timelines.pipeline.revision import citation_faults
from timelines.pipeline.tagging import parse_tagged, render_tagged
from timelines.pipeline.uids import escape_mention, unescape_mention


class BrokenChain(ValueError):
    """Links of the chain that lead nowhere.

    `reasons` name UIDs, rows and offsets, never note text.
    """

    log_safe = True
    retryable = False

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons[:20]))
        self.reasons = tuple(reasons)


@dataclass(frozen=True)
class Chain:
    """Everything behind one occurrence, from first link to last.

    `quote` is the note's own text, None without a span.
    """

    occurrence: Occurrence
    quote: str | None
    text_only: Entry
    queries: tuple[Query, ...]
    candidates: tuple[Candidate, ...]
    evidence: tuple[Evidence, ...]
    revised: tuple[Entry, ...]
    #: Rows that a revised time cites or leans on though they were not found for this occurrence.
    other_rows: tuple[SourceRow, ...] = ()


def chains(result: Reconstruction) -> Iterator[Chain]:
    """One chain an occurrence, in inventory order."""
    queries: dict[str, list[Query]] = defaultdict(list)
    candidates: dict[str, list[Candidate]] = defaultdict(list)
    evidence: dict[str, list[Evidence]] = defaultdict(list)
    for query in result.queries:
        queries[query.uid].append(query)
    for candidate in result.candidates:
        candidates[candidate.uid].append(candidate)
    for item in result.evidence:
        evidence[item.uid].append(item)
    seen = Expansion(result.evidence, {}, result.skeleton).by_index
    for o in result.note.inventory:
        revised = tuple(t.by_uid[o.uid] for t in result.revised)
        named = {r for e in revised for r in (*e.adopted_rows, *e.near_rows)}
        own = {item.row.row_index for item in evidence[o.uid]}
        yield Chain(
            occurrence=o,
            quote=None if o.start is None else result.note.text[o.start : o.end],
            text_only=result.text_only.by_uid[o.uid],
            queries=tuple(queries[o.uid]),
            candidates=tuple(candidates[o.uid]),
            evidence=tuple(evidence[o.uid]),
            revised=revised,
            other_rows=tuple(seen[row] for row in sorted(named - own) if row in seen),
        )


def verify(
    result: Reconstruction,
    *,
    note_sha256: str,
    latest: float | None = None,
    config: PipelineConfig = PROTOCOL,
) -> None:
    """Raise BrokenChain unless the chain is complete and consistent.

    The error has every reason. The note is the one that was imported; with markup put around every
    span and removed again it is the same note and gives the same spans; mentions are in their
    escaped form; every timeline has every UID once, in order; every candidate has its query and
    every row its retained candidate; no row is later than `latest` (hours; discharge + 12, None
    without a discharge); revision saw every row that a revised time cites. For a timeline without
    identifiers (variant `no_uid`) only its numbering and its rows are checked: its lines check
    themselves, and no UID can be missing if none was shown.
    """
    reasons = [
        *_note_faults(result, note_sha256),
        *_timeline_faults(result),
        *_evidence_faults(result, latest, config),
    ]
    if reasons:
        raise BrokenChain(reasons)


def _note_faults(result: Reconstruction, note_sha256: str) -> Iterator[str]:
    text, inventory = result.note.text, result.note.inventory
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != note_sha256:
        yield "the note is not the one that was imported: its SHA-256 differs"
    for o in inventory:
        if escape_mention(unescape_mention(o.mention)) != o.mention:
            yield f"UID {o.uid}: the mention is not in its escaped form"
        if o.start is not None and text[o.start : o.end].strip() != text[o.start : o.end]:
            yield f"UID {o.uid}: its span begins or ends in white space"
    spans = sorted(
        (s.start, s.end, s.mention) for s in parse_tagged(render_tagged(text, inventory), text)
    )
    if spans != sorted(
        (o.start, o.end, unescape_mention(o.mention))
        for o in inventory
        if o.start is not None and o.end is not None
    ):
        yield "spans with markup put in and removed again are not the same spans"


def _timeline_faults(result: Reconstruction) -> Iterator[str]:
    expected = [
        (TimelineKind.TEXT_ONLY, 1),
        *((TimelineKind.REVISED, n) for n in range(1, len(result.revised) + 1)),
    ]
    for timeline, (kind, alternative) in zip(
        (result.text_only, *result.revised), expected, strict=True
    ):
        name = f"{kind} timeline {alternative}"
        if (timeline.kind, timeline.alternative) != (kind, alternative):
            yield f"{name} is stored as {timeline.kind} timeline {timeline.alternative}"
        if tuple(e.uid for e in timeline) != result.note.inventory.uids:
            yield f"{name} does not have every UID once, in inventory order"
    yield from (
        f"UID {e.uid}: its text-only time rests on rows" for e in result.text_only if e.adopted_rows
    )
    if [t.alternative for t in result.unidentified] != list(range(1, len(result.unidentified) + 1)):
        yield "the timelines without identifiers are not numbered 1, 2, 3, …"
    if result.unidentified and result.revised:
        yield "timelines with and without identifiers are stored for one revision"


def _evidence_faults(
    result: Reconstruction, latest: float | None, config: PipelineConfig
) -> Iterator[str]:
    queries = {(q.uid, q.ordinal) for q in result.queries}
    yield from (
        f"UID {uid}: a query of no occurrence"
        for uid, _ in queries
        if uid not in result.note.inventory.by_uid
    )
    yield from (
        f"UID {c.uid}: a candidate without its query"
        for c in result.candidates
        if (c.uid, c.query) not in queries
    )
    kept = {(c.uid, c.query, c.event) for c in result.candidates if c.kept}
    yield from (
        f"UID {s.uid}: a summary without a kept candidate"
        for s in result.summaries
        if (s.uid, s.query, s.event) not in kept
    )
    if result.summaries and result.evidence:
        yield "rows are stored for a revision that saw summaries alone"
    for item in result.evidence:
        if (item.uid, item.query, item.found_in) not in kept:
            yield f"UID {item.uid}: row {item.row.row_index} without a kept candidate"
    seen = Expansion(result.evidence, {}, result.skeleton)
    for index, row in seen.by_index.items():
        if row.time is None or (latest is not None and row.time > latest):
            yield f"row {index} has no time or is later than discharge allows"
    yield from (
        f"alternative {timeline.alternative}: {fault}"
        for timeline in result.revised
        for entry in timeline
        for fault in citation_faults(entry, seen, config)
    )
    yield from (
        f"alternative {timeline.alternative}: {fault}"
        for timeline in result.unidentified
        for line in timeline
        for fault in citation_faults(line, seen, config)
    )
