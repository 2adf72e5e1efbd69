"""Stage 6 of variant `no_uid`.

Revision sees no identifier in note, table or evidence, and answers in table form.

The answer is not compared with the inventory, so occurrences can be lost, merged or repeated: the
variant measures that. Only a wrong number of alternatives and invalid lines (no event, bounds that
exclude the time, numbers that are not finite, rows that were not seen or whose hours differ from
the time) are rejected. Source: protocol section 2, "Variants".
"""

from __future__ import annotations

from dataclasses import replace

from timelines.domain import (
    Expansion,
    NamedRow,
    NamedTime,
    NamedTimeline,
    NoRows,
    TaggedNote,
    TaggedSpan,
    Timeline,
    Window,
)
from timelines.pipeline.backbone import UnidentifiedReviser
from timelines.pipeline.config import PROTOCOL, PipelineConfig
from timelines.pipeline.revision import RevisionRejected, check_count, citation_faults


def revise_unidentified(
    reviser: UnidentifiedReviser,
    note: TaggedNote,
    text_only: Timeline,
    found: Expansion,
    window: Window,
    *,
    alternatives: int,
    exactly: bool = True,
    config: PipelineConfig = PROTOCOL,
) -> tuple[NamedTimeline, ...]:
    """Let the reviser answer without identifiers.

    Its timelines are numbered from 1. `config` has the limits of citations. Raises
    RevisionRejected.
    """
    spans = named_spans(note)
    timelines = reviser.revise_unidentified(
        note.text,
        spans,
        named_table(note, text_only),
        named_rows(note, found),
        named_reasons(note, found),
        window,
        alternatives,
    )
    check_count(len(timelines), alternatives, exactly=exactly)
    reasons = [
        f"timeline {number}: {fault}"
        for number, timeline in enumerate(timelines, start=1)
        for line in timeline
        for fault in citation_faults(line, found, config)
    ]
    if reasons:
        raise RevisionRejected(reasons)
    return tuple(
        replace(timeline, alternative=number) for number, timeline in enumerate(timelines, start=1)
    )


def named_spans(note: TaggedNote) -> list[TaggedSpan]:
    """The located occurrences in inventory order, without their identifiers."""
    return [
        TaggedSpan(o.start, o.end, o.mention, o.polarity, o.lane)
        for o in note.inventory
        if o.start is not None and o.end is not None
    ]


def named_table(note: TaggedNote, text_only: Timeline) -> list[NamedTime]:
    """Return the text-only table, one line for each occurrence.

    In inventory order, named by mention; without context, which consists of identifiers.
    """
    mention = {o.uid: o.mention for o in note.inventory}
    return [
        NamedTime(mention[e.uid], e.time, e.lower, e.upper, e.known, e.decided_by, e.reason)
        for e in text_only
    ]


def named_rows(note: TaggedNote, found: Expansion) -> list[NamedRow]:
    """Return the rows, each with the mention that it reached.

    Rows of the stay itself have "".
    """
    mention = {o.uid: o.mention for o in note.inventory}
    return [
        *(NamedRow("", row, 1.0) for row in found.skeleton),
        *(NamedRow(mention[item.uid], item.row, item.relevance) for item in found.evidence),
    ]


def named_reasons(note: TaggedNote, found: Expansion) -> dict[str, NoRows]:
    """Return mention → why none of its occurrences has rows.

    Of several reasons the last one in the order of retrieval counts.
    """
    mention = {o.uid: o.mention for o in note.inventory}
    reasons = sorted(found.without_evidence.items(), key=lambda r: list(NoRows).index(r[1]))
    reached = {mention[item.uid] for item in found.evidence}
    return {mention[uid]: reason for uid, reason in reasons if mention[uid] not in reached}
