"""Linked occurrences of a chart, as the case page shows them.

Only timelines over a chart are asked (`Choice.composed`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Max

from ehr.models import NotePart
from ehr.presentation.clock import Clock, Moment
from timelines.cases.choices import Choice
from timelines.models import Inventory, OccurrenceLink
from timelines.presentation.case_plot import Item, ShownNote
from timelines.runs.links import load_groups


@dataclass(frozen=True, slots=True)
class Part:
    """A note of a chart: where it is, its kind, and when it was written."""

    start: int
    end: int
    kind: str
    written: Moment | None


def load_note_parts(note: int, clock: Clock) -> tuple[Part, ...]:
    """Return the notes of a chart in order."""
    found = NotePart.objects.filter(chart=note).select_related("note").defer("note__text")
    return tuple(
        Part(
            p.start,
            p.end,
            p.note.kind[:1].upper() + p.note.kind[1:],
            clock.read(clock.hours(p.note.charted_at)) if p.note.charted_at else None,
        )
        for p in found.order_by("start")
    )


def find_place(parts: Sequence[Part], start: int | None) -> int | None:
    """Return the place of the note that a character is in."""
    return next(
        (n for n, p in enumerate(parts) if start is not None and p.start <= start < p.end), None
    )


def find_heads(
    groups: Mapping[str, Sequence[str]], times: Mapping[str, float | None]
) -> dict[str, str]:
    """Return the first occurrence of its group with the same time, by UID.

    Those that are the first themselves, and conflicting ones, are left out.
    """
    heads = {}
    for uid, group in groups.items():
        same = [other for other in group if other in times and times[other] == times.get(uid)]
        if times.get(uid) is not None and same and same[0] != uid:
            heads[uid] = same[0]
    return heads


def load_heads(choice: Choice, times: Mapping[str, float | None]) -> dict[str, str]:
    """Return `find_heads` of a timeline; empty unless it is over a chart."""
    if not choice.composed or choice.inventory_id is None:
        return {}
    return find_heads(load_groups(choice.inventory_id), times)


def add_notes(
    items: Sequence[Item], choice: Choice, clock: Clock
) -> tuple[list[Item], tuple[ShownNote, ...]]:
    """Return the items with their notes, and the notes of the chart."""
    if not choice.composed or choice.inventory_id is None:
        return list(items), ()
    note = Inventory.objects.values_list("note_id", flat=True).get(pk=choice.inventory_id)
    parts = load_note_parts(note, clock)
    places = {i.key: find_place(parts, i.start) for i in items}
    heads = load_heads(choice, {i.key: i.time for i in items})
    first = {uid: heads.get(uid, uid) for uid in places}
    sizes = Counter(first.values())
    made = [
        replace(
            item,
            note=places[item.key],
            head=heads.get(item.key, ""),
            also=tuple(
                place
                for uid, place in places.items()
                if place is not None and uid != item.key and first[uid] == first[item.key]
            )
            if sizes[first[item.key]] > 1
            else (),
        )
        for item in items
    ]
    return made, tuple(ShownNote(p.kind, p.written) for p in parts)


def links_state(choice: Choice) -> str:
    """Return what changes with the links that count; "" without a chart."""
    if not choice.composed:
        return ""
    found = OccurrenceLink.objects.filter(inventory=choice.inventory_id)
    last = found.aggregate(made=Max("pk"), undone=Max("undone_by__pk"))
    return f":{last['made'] or 0}:{last['undone'] or 0}"
