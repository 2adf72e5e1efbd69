"""Join the entries of a base anew, by the links that count now.

A group of which a person corrected one occurrence has the corrected time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from timelines.curation.standing import CORRECTING
from timelines.domain import Anchor, TaggedNote, TimelineKind
from timelines.models import OccurrenceLink, Timeline
from timelines.pipeline.linking.chart import join_linked
from timelines.runs.links import load_alone, load_links, load_own, read_values, write_values
from timelines.runs.storage import load_inventory, load_parts, occurrence_ids


def has_links(base: Timeline) -> bool:
    """Return whether the notes of a run's timeline were ever linked."""
    return (
        base.case_run_id is not None
        and OccurrenceLink.objects.filter(inventory=base.inventory_id).exists()
    )


def rejoin(base: Timeline, corrected: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the values of all entries, by occurrence.

    `corrected` are the values of corrected occurrences. The base is of a run and has links.
    """
    inventory, case_run = base.inventory, base.case_run
    assert inventory is not None
    assert case_run is not None
    ids = occurrence_ids(inventory.pk)
    kind = TimelineKind(base.kind)
    own = next(t for t in load_own(case_run, kind) if t.alternative == base.alternative)
    entries = tuple(
        read_values(e.uid, corrected[ids[e.uid]]) if ids[e.uid] in corrected else e for e in own
    )
    parts = load_parts(inventory.note, Anchor(base.encounter.admitted_at))
    note = TaggedNote(inventory.note.text, load_inventory(inventory.pk), parts)
    joined = join_linked(
        note,
        replace(own, entries=entries),
        load_links(inventory.pk),
        alone=load_alone(case_run),
        people=CORRECTING,
    )
    return {ids[e.uid]: write_values(e) for e in joined.timeline}
