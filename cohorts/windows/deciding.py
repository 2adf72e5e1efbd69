"""Name the entry and the row of each fact that decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cohorts.windows.values import Decider
from ehr.models import Dataset, SourceRow
from timelines.models import Entry

#: A fact, as `cohorts.facts.loading` numbers it, and its concept.
Named = tuple[int, str]


def describe_deciders(
    dataset: Dataset, named: Mapping[int, Sequence[Named]]
) -> dict[int, list[Decider]]:
    """Return what decides each stay, in two queries."""
    facts = [fact for found in named.values() for fact, _ in found]
    entries = {
        pk: (mention, rows[0] if rows else None)
        for pk, mention, rows in Entry.objects.filter(pk__in=[f for f in facts if f >= 0])
        .order_by()
        .values_list("pk", "occurrence__mention", "adopted_rows")
    }
    events = _load_events(dataset, named)
    return {
        stay: [
            Decider(concept, fact, entries[fact][1], entries[fact][0])
            if fact >= 0
            else Decider(concept, None, -1 - fact, events.get((stay, -1 - fact), ""))
            for fact, concept in found
            if fact < 0 or fact in entries
        ]
        for stay, found in named.items()
    }


def _load_events(
    dataset: Dataset, named: Mapping[int, Sequence[Named]]
) -> dict[tuple[int, int], str]:
    wanted = {(stay, -1 - fact) for stay, found in named.items() for fact, _ in found if fact < 0}
    rows = SourceRow.objects.filter(
        dataset=dataset,
        encounter__in={stay for stay, _ in wanted},
        row_index__in={index for _, index in wanted},
    )
    found = rows.order_by().values_list("encounter_id", "row_index", "event")
    return {(stay, index): event for stay, index, event in found if (stay, index) in wanted}
