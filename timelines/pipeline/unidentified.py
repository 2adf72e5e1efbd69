"""Stage 6 of variant `no_uid`.

Revision sees no identifier in note, table or evidence, and answers in table form.

The answer is not compared with the inventory, so occurrences can be lost, merged or repeated: the
variant measures that. Only a wrong number of alternatives and invalid lines (no event, bounds that
exclude the time, numbers that are not finite) are rejected. Source: protocol section 2, "Variants".
"""

from __future__ import annotations

from timelines.domain import (
    Expansion,
    NamedRow,
    NamedTime,
    NamedTimeline,
    TaggedNote,
    TaggedSpan,
    Timeline,
    Window,
)
from timelines.pipeline.backbone import UnidentifiedReviser
from timelines.pipeline.revision import check_count


def revise_unidentified(
    reviser: UnidentifiedReviser,
    note: TaggedNote,
    text_only: Timeline,
    found: Expansion,
    window: Window,
    *,
    alternatives: int,
    exactly: bool = True,
) -> tuple[NamedTimeline, ...]:
    """Let the reviser answer without identifiers.

    Its tables are numbered from 1. Raises RevisionRejected.
    """
    spans = named_spans(note)
    tables = reviser.revise_unidentified(
        note.text,
        spans,
        named_table(note, text_only),
        named_rows(note, found),
        window,
        alternatives,
    )
    check_count(len(tables), alternatives, exactly=exactly)
    return tuple(
        NamedTimeline(tuple(table), number) for number, table in enumerate(tables, start=1)
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
