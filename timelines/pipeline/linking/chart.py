"""Link the notes of a chart: candidates, decision, groups.

A note that is no chart has no links, and nothing here is called for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from llm_runtime.base import Embedder
from timelines.domain import TaggedNote, Timeline
from timelines.pipeline.linking.candidates import embed_mentions, find_pairs
from timelines.pipeline.linking.grouping import choose_links, find_groups
from timelines.pipeline.linking.joining import Joined, join
from timelines.pipeline.linking.values import Link, Linker, find_members


def link_notes(
    note: TaggedNote,
    text_only: Timeline,
    *,
    linker: Linker,
    embedder: Embedder,
    batch_size: int | None = None,
) -> tuple[Link, ...]:
    """Return the links between notes of a chart, by their text-only times."""
    if len(note.inventory) == 0:
        return ()
    vectors = embed_mentions(note, embedder, batch_size)
    pairs = find_pairs(note, text_only, vectors)
    members = find_members(note.inventory, note.parts)
    part_of = {uid: member.part for uid, member in members.items()}
    return choose_links(linker.find_links(note, text_only, pairs), part_of)


def join_linked(
    note: TaggedNote,
    timeline: Timeline,
    links: Iterable[Link],
    *,
    alone: Timeline | None = None,
    people: Collection[str] = frozenset(),
) -> Joined:
    """Return the timeline with one time for each group of these links.

    `alone` and `people` as in `join`.
    """
    groups = find_groups(((x.first, x.second) for x in links), note.inventory.uids)
    members = find_members(note.inventory, note.parts)
    return join(timeline, groups, members, alone=alone, people=people)


def explain_alone(joined: Timeline, alone: Timeline) -> Timeline:
    """Return joined text-only times with the reasons of each note alone.

    Revision reads these: it adds to the reasons, and what it returns is joined again.
    """
    reasons = {e.uid: e.reason for e in alone}
    return replace(joined, entries=tuple(replace(e, reason=reasons[e.uid]) for e in joined))
