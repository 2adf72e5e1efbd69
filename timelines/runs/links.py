"""Store links between notes, and times before they were joined.

Saving happens inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet

from timelines import domain
from timelines.models import CaseRun, Entry, Inventory, Occurrence, OccurrenceLink, OwnTime
from timelines.models.timelines import TimeValues
from timelines.pipeline.linking.grouping import find_groups
from timelines.pipeline.linking.values import Decider, Link
from timelines.runs.storage import load_timelines, occurrence_ids

#: The columns of a time: those of an entry without what it is of.
VALUES = tuple(f.name for f in TimeValues._meta.get_fields())


def find_links(inventory: int | None) -> QuerySet[OccurrenceLink]:
    """Return the links of an inventory that count."""
    return OccurrenceLink.objects.filter(inventory=inventory, undone_by__isnull=True)


def save_links(inventory: Inventory, links: Iterable[Link]) -> None:
    """Store the links that a run found."""
    ids = occurrence_ids(inventory.pk)
    OccurrenceLink.objects.bulk_create(
        OccurrenceLink(
            inventory=inventory,
            first_id=ids[link.first],
            second_id=ids[link.second],
            reason=link.reason,
            decided_by=link.decided_by.value,
        )
        for link in links
    )


def load_links(inventory: int) -> tuple[Link, ...]:
    """Return the links that count, oldest first."""
    rows = find_links(inventory).values_list("first__uid4", "second__uid4", "reason", "decided_by")
    return tuple(Link(a, b, reason, Decider(by)) for a, b, reason, by in rows.order_by("pk"))


def load_groups(inventory: int) -> dict[str, tuple[str, ...]]:
    """Return the group of each linked occurrence, by UID."""
    pairs = list(find_links(inventory).values_list("first__uid4", "second__uid4"))
    if not pairs:
        return {}
    order = Occurrence.objects.filter(inventory=inventory).order_by("ordinal")
    groups = find_groups(pairs, order.values_list("uid4", flat=True))
    return {uid: group for group in groups for uid in group}


def save_own_times(timeline: int, own: Mapping[str, domain.Entry]) -> None:
    """Store what entries of a timeline were before they were joined."""
    entries = Entry.objects.filter(timeline=timeline, occurrence__uid4__in=own)
    OwnTime.objects.bulk_create(
        OwnTime(entry_id=pk, **write_values(own[uid]))
        for pk, uid in entries.values_list("pk", "occurrence__uid4")
    )


def load_own(case_run: CaseRun, kind: domain.TimelineKind) -> tuple[domain.Timeline, ...]:
    """Return the case run's timelines of that kind before they were joined."""
    return tuple(
        replace(timeline, entries=tuple(own.get(e.uid, e) for e in timeline))
        for timeline in load_timelines(case_run, kind)
        for own in (_load_own_times(case_run, kind, timeline.alternative),)
    )


def load_alone(case_run: CaseRun) -> domain.Timeline:
    """Return the time that each note of a case run gives alone."""
    (timeline,) = load_own(case_run, domain.TimelineKind.TEXT_ONLY)
    return timeline


def _load_own_times(
    case_run: CaseRun, kind: domain.TimelineKind, alternative: int
) -> dict[str, domain.Entry]:
    rows = OwnTime.objects.filter(
        entry__timeline__case_run=case_run,
        entry__timeline__kind=kind.value,
        entry__timeline__alternative=alternative,
    )
    return {
        uid: read_values(uid, dict(zip(VALUES, values, strict=True)))
        for uid, *values in rows.values_list("entry__occurrence__uid4", *VALUES)
    }


def write_values(entry: domain.Entry) -> dict[str, Any]:
    """Return the columns of an entry's time, for the database or JSON."""
    values = {name: getattr(entry, name) for name in VALUES}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()} | {
        "link": entry.link.value if entry.link else ""
    }


def read_values(uid: str, values: Mapping[str, Any]) -> domain.Entry:
    """Return the entry that `write_values` wrote."""
    made: dict[str, Any] = {}
    for name in VALUES:
        value = values[name]
        made[name] = tuple(value) if isinstance(value, list) else value
    made["link"] = domain.RowLink(values["link"]) if values["link"] else None
    return domain.Entry(uid, **made)
