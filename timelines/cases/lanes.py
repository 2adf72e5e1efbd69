"""The rows of the record that the lanes of a case draw.

They are read when the lanes are opened, and cached as the page's own drawing is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.core.cache import cache

from ehr.models import Encounter, EventSeries, SourceRow
from timelines.cases.choices import Choice, Choices
from timelines.cases.drawing import KEEP_SECONDS, lasting_key
from timelines.cases.items import spans_and_items
from timelines.cases.opening import stay
from timelines.cases.pairs import CasePairs
from timelines.domain import Anchor
from timelines.presentation.case_plot import Item, build_axis
from timelines.presentation.lanes.kinds import ShownLane
from timelines.presentation.lanes.rows import RecordRow
from timelines.presentation.lanes.tracks import Wanted, build_tracks, wanted_events


def find_tracks(
    encounter: Encounter, choice: Choice, choices: Choices, pairs: CasePairs | None = None
) -> dict[str, Any]:
    """Return the tracks on the axis of the page.

    `pairs`: those that the page was opened with.
    """
    key = "" if pairs else lasting_key("lanes", choice, choices)
    found: dict[str, Any] | None = cache.get(key) if key else None
    if found is None:
        _, items = spans_and_items(choice, choices)
        found = _build(encounter, pairs.select(items) if pairs else items)
        if key:
            cache.set(key, found, KEEP_SECONDS)
    return found


def _build(encounter: Encounter, items: Sequence[Item]) -> dict[str, Any]:
    anchor, discharge = stay(encounter)
    wanted = _wanted(items)
    names = EventSeries.objects.filter(encounter=encounter).values_list("event", flat=True)
    events = wanted_events(wanted, names)
    axis = build_axis(items, discharge)
    return build_tracks(wanted, _rows(encounter, events, anchor), axis.position, _citing(items))


def _wanted(items: Sequence[Item]) -> list[Wanted]:
    """Return what the occurrences name, in order of the note."""
    concepts = {i.subject.concept.name: i.subject.concept for i in items if i.subject}
    cited: dict[str, set[str]] = defaultdict(set)
    for item in items:
        if item.subject:
            cited[item.subject.concept.name].update(t.event for t in item.evidence)
    return [Wanted(concept, frozenset(cited[name])) for name, concept in concepts.items()]


def _citing(items: Sequence[Item]) -> dict[str, list[str]]:
    """Return the keys of the medications that cite rows of each event."""
    found: dict[str, list[str]] = defaultdict(list)
    for item in (i for i in items if i.shown_lane is ShownLane.MEDICATION):
        for event in item.cited_events:
            found[event].append(item.key)
    return found


def _rows(encounter: Encounter, events: set[str], anchor: Anchor) -> list[RecordRow]:
    found = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id,
        encounter_id=encounter.pk,
        event__in=events,
        time__isnull=False,
    ).order_by("time", "row_index")
    return [
        RecordRow(anchor.hours(time), event, value, number, unit)
        for time, event, value, number, unit in found.values_list(
            "time", "event", "value", "numeric_value", "unit"
        )
        if time is not None
    ]
