"""Stages 5 and 6 of variant `no_rows`.

Revision reads the retained summaries, and no row behind them. Order (protocol section 2, stage 5,
its rules for summaries): retained candidates → the same summary once an occurrence → the budget in
tokens, in rounds over the occurrences; or the published cap, by ρ, ties by inventory order, query
ordinal and dense rank.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from timelines.domain import (
    Candidate,
    Expansion,
    Inventory,
    KeptSummary,
    TaggedNote,
    Timeline,
    Window,
)
from timelines.pipeline.backbone import SummaryReviser
from timelines.pipeline.expansion import CHARACTERS_PER_TOKEN, Caps, fill_rounds
from timelines.pipeline.retrieval import relevance
from timelines.pipeline.revision import accept_revision


def select_summaries(
    inventory: Inventory, candidates: Iterable[Candidate], summaries: Mapping[str, str], caps: Caps
) -> tuple[KeptSummary, ...]:
    """Return the summaries that reach revision.

    In inventory order and by ρ within an occurrence; `summaries` maps event → its text.
    """
    ordinal = {o.uid: o.ordinal for o in inventory}

    def order(c: Candidate) -> tuple[float, int, int, int]:
        return (-relevance(c), ordinal[c.uid], c.query, c.dense_rank)

    chosen: dict[str, dict[str, Candidate]] = defaultdict(dict)
    for candidate in sorted((c for c in candidates if c.kept), key=order):
        chosen[candidate.uid].setdefault(candidate.event, candidate)
    queues = {uid: list(found.values())[: caps.per_occurrence] for uid, found in chosen.items()}
    if caps.tokens is not None:
        queues = {uid: queues[uid] for uid in inventory.uids if uid in queues}
        queues = fill_rounds(
            queues, lambda c: len(summaries[c.event]) / CHARACTERS_PER_TOKEN, caps.tokens
        )
    kept = sorted((c for found in queues.values() for c in found), key=order)[: caps.per_case]
    return tuple(
        make_summary(c, summaries[c.event])
        for c in sorted(kept, key=lambda c: (ordinal[c.uid], order(c)))
    )


def make_summary(candidate: Candidate, text: str) -> KeptSummary:
    """Return the words of a candidate's series with its scores."""
    c = candidate
    return KeptSummary(c.uid, c.query, c.event, text, c.dense_rank, c.dense_score, c.rerank_score)


def revise_by_summaries(
    reviser: SummaryReviser,
    note: TaggedNote,
    text_only: Timeline,
    summaries: Sequence[KeptSummary],
    window: Window,
    *,
    alternatives: int,
    exactly: bool = True,
) -> tuple[Timeline, ...]:
    """Return complete timelines, none of whose times rests on a row.

    Otherwise as `revision.revise`. Raises RevisionRejected.
    """
    timelines = reviser.revise_by_summaries(note, text_only, summaries, window, alternatives)
    return accept_revision(timelines, note.inventory, Expansion(()), alternatives, exactly=exactly)
