"""Load an item as `visibility.blinded_item` needs it, and blind it.

No other module loads an item for a reviewer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from django.http import Http404

from adjudication.blinding.rows import ShownRow, TimelineRow
from adjudication.blinding.visibility import (
    SERIES_WITH_ROWS,
    BlindedItem,
    ItemMaterial,
    RecordRow,
    RecordSeries,
    blinded_item,
    blinded_timelines,
    series_order,
    shown_rows,
)
from adjudication.domain import FindingType
from adjudication.models import Assignment, Finding, PacketItem
from ehr.models import Encounter, EventSeries, SourceRow
from ehr.presentation.clock import Clock
from timelines.domain import Anchor
from timelines.models import Entry, Timeline
from timelines.runs.stay_text import StayText, read_texts
from timelines.runs.storage import NoteChanged


def blind_item(*, assignment: Assignment, item: PacketItem) -> BlindedItem:
    """Return the item as this person sees it.

    Raises NoteChanged if the note differs from the imported one, LookupError if there is none.
    """
    return blinded_item(load_material(item), assignment.seed)


def blind_timelines(
    *, assignment: Assignment, item: PacketItem
) -> tuple[tuple[ShownRow, ...], tuple[ShownRow, ...]]:
    """Return both whole timelines as this person sees them, side A first.

    Raises NoteChanged, LookupError as `blind_item`.
    """
    return blinded_timelines(load_material(item, record="none"), assignment.seed)


def load_clock(encounter: Encounter) -> Clock:
    """Return the clock of a stay."""
    return Clock.of_stay(encounter.admitted_at, encounter.discharged_at)


def blind_candidates(
    *, assignment: Assignment, items: Iterable[PacketItem]
) -> dict[int, BlindedItem]:
    """Map items to their two rows as this person sees them, without the rest.

    If the note of a case was changed, both rows have their plain form.
    """
    texts: dict[tuple[int, ...], StayText] = {}
    found = {}
    for item in items:
        finding = _finding(item)
        comparison = finding.game.comparison
        key = (comparison.encounter_id, *(i or 0 for i in _inventories(finding)))
        if key not in texts:
            texts[key] = _read_unchanged_text(finding)
        found[item.pk] = blinded_item(_describe(item, finding, texts[key]), assignment.seed)
    return found


def load_blinded_rows(*, item: PacketItem, number: int) -> tuple[RecordRow, ...]:
    """Return all rows of a series of the item's page, in order of time.

    `number` is its number on that page. Raises Http404 for an unknown number.
    """
    finding = _finding(item)
    encounter = finding.game.comparison.encounter
    series = _series(encounter)
    order = series_order([_convert_series(s, ()) for s in series], _events(finding))
    if not 0 <= number < len(order):
        raise Http404
    return shown_rows(
        _rows(encounter, [series[order[number]]])[series[order[number]].pk], (), limit=None
    )


def load_material(
    item: PacketItem, *, record: Literal["whole", "names", "none"] = "whole"
) -> ItemMaterial:
    """Load the material of an item.

    `record`: the series with the rows of the first ones, the names alone, or nothing. Of the judge's
    answer it has only the two rows, and whether one repeats an event.
    """
    finding = _finding(item)
    comparison, text = finding.game.comparison, _read_text(finding)
    timelines = (comparison.first, comparison.second)
    a_rows, b_rows = (
        load_timeline_rows(timeline, text)
        for timeline in (timelines if finding.game.a_is_first else reversed(timelines))
    )
    return replace(
        _describe(item, finding, text),
        a_rows=a_rows,
        b_rows=b_rows,
        series=()
        if record == "none"
        else _load_series(comparison.encounter, finding, rows=record == "whole"),
    )


def _describe(item: PacketItem, finding: Finding, text: StayText) -> ItemMaterial:
    """Return the material without timelines and record."""
    encounter = finding.game.comparison.encounter
    return ItemMaterial(
        item=item.public_id,
        repeated=finding.type == FindingType.DUPLICATE,
        a=_candidate(finding.a_event, finding.a_time, finding.a_entry, text),
        b=_candidate(finding.b_event, finding.b_time, finding.b_entry, text),
        note=text.text,
        both_have_spans=None not in _inventories(finding),
        stay_hours=load_clock(encounter).discharge,
        admitted_at=encounter.admitted_at,
    )


def _read_text(finding: Finding) -> StayText:
    text = read_texts(finding.game.comparison.encounter, _inventories(finding))
    if text is None:
        raise LookupError("a case without a note cannot be reviewed")
    return text


def _read_unchanged_text(finding: Finding) -> StayText:
    try:
        return _read_text(finding)
    except NoteChanged:
        return StayText()


def _inventories(finding: Finding) -> tuple[int | None, int | None]:
    comparison = finding.game.comparison
    return (comparison.first.inventory_id, comparison.second.inventory_id)


def _finding(item: PacketItem) -> Finding:
    joined = (
        "game__comparison__encounter",
        "game__comparison__first",
        "game__comparison__second",
        "a_entry__occurrence",
        "b_entry__occurrence",
    )
    return Finding.objects.select_related(*joined).get(pk=item.finding_id)


def _candidate(
    event: str | None, time: int | None, entry: Entry | None, text: StayText
) -> TimelineRow | None:
    if event is None:
        return None
    found = entry.occurrence if entry is not None else None
    place = (None, None, None) if found is None else (found.inventory_id, found.start, found.end)
    return TimelineRow(event, time, _span(text, *place))


def load_timeline_rows(timeline: Timeline, text: StayText) -> tuple[TimelineRow, ...]:
    """Return the rows of a timeline in the order of its entries' keys."""
    fields = ("occurrence__mention", "event", "time", "occurrence__start", "occurrence__end")
    return tuple(
        TimelineRow(
            event if mention is None else mention,
            time,
            _span(text, timeline.inventory_id, start, end),
        )
        for mention, event, time, start, end in timeline.entries.order_by("pk").values_list(*fields)
    )


def _span(
    text: StayText, inventory: int | None, start: int | None, end: int | None
) -> tuple[int, int] | None:
    first, last = text.place(inventory, start), text.place(inventory, end)
    return None if first is None or last is None else (first, last)


def _series(encounter: Encounter) -> list[EventSeries]:
    return list(EventSeries.objects.filter(encounter=encounter).order_by("event"))


def _events(finding: Finding) -> list[str]:
    return [event for event in (finding.a_event, finding.b_event) if event is not None]


def _load_series(encounter: Encounter, finding: Finding, *, rows: bool) -> tuple[RecordSeries, ...]:
    """Return all series; the first ones have their rows, if wanted."""
    series = _series(encounter)
    if not rows:
        return tuple(_convert_series(s, ()) for s in series)
    first = series_order([_convert_series(s, ()) for s in series], _events(finding))[
        :SERIES_WITH_ROWS
    ]
    found = _rows(encounter, [series[index] for index in first])
    return tuple(_convert_series(s, found.get(s.pk, ())) for s in series)


def _convert_series(series: EventSeries, rows: tuple[RecordRow, ...]) -> RecordSeries:
    return RecordSeries(series.event, series.summary, series.count, series.priority, rows)


def _rows(encounter: Encounter, series: list[EventSeries]) -> dict[int, tuple[RecordRow, ...]]:
    """Map a series to its rows, in hours from admission."""
    anchor = Anchor(encounter.admitted_at)
    wanted = {index for s in series for index in s.row_indices}
    found = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id, encounter=encounter, row_index__in=wanted
    )
    rows = {
        r.row_index: RecordRow(
            None if r.time is None else anchor.hours(r.time),
            r.value,
            r.unit,
            r.time_kind,
            r.row_index,
        )
        for r in found
    }
    return {s.pk: tuple(rows[index] for index in s.row_indices if index in rows) for s in series}
