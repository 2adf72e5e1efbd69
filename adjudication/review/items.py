"""Load an item as `visibility.blinded_item` needs it, and blind it.

No other module loads an item for a reviewer.
"""

from __future__ import annotations

from django.http import Http404

from adjudication.blinding.visibility import (
    SERIES_WITH_ROWS,
    BlindedItem,
    CandidateRow,
    ItemMaterial,
    RecordRow,
    RecordSeries,
    blinded_item,
    series_order,
    shown_rows,
)
from adjudication.domain import FindingType
from adjudication.models import Assignment, Finding, PacketItem
from ehr.models import Encounter, EventSeries, SourceRow
from timelines.domain import Anchor
from timelines.models import Entry, Timeline
from timelines.runs.stay_text import StayText, read_texts


def blind_item(*, assignment: Assignment, item: PacketItem) -> BlindedItem:
    """Return the item as this person sees it.

    Raises NoteChanged if the note differs from the imported one, LookupError if there is none.
    """
    return blinded_item(load_material(item), assignment.seed)


def load_blinded_rows(*, item: PacketItem, number: int) -> tuple[RecordRow, ...]:
    """Return all rows of a series of the item's page, in order of time.

    `number` is its number on that page. Raises Http404 for an unknown number.
    """
    finding, encounter = _finding(item), _encounter(item)
    series = _series(encounter)
    order = series_order([_convert_series(s, ()) for s in series], _events(finding))
    if not 0 <= number < len(order):
        raise Http404
    return shown_rows(
        _rows(encounter, [series[order[number]]])[series[order[number]].pk], (), limit=None
    )


def load_material(item: PacketItem) -> ItemMaterial:
    """Load the material of an item.

    Of the judge's answer it has only the two rows, and whether one repeats an event.
    """
    finding, encounter = _finding(item), _encounter(item)
    comparison, a_is_first = finding.game.comparison, bool(finding.game.a_is_first)
    text = read_texts(encounter, (comparison.first.inventory_id, comparison.second.inventory_id))
    if text is None:
        raise LookupError("a case without a note cannot be reviewed")
    first, second = _timeline_rows(comparison.first), _timeline_rows(comparison.second)
    a_rows, b_rows = (first, second) if a_is_first else (second, first)
    discharged = (
        None
        if encounter.discharged_at is None
        else Anchor(encounter.admitted_at).hours(encounter.discharged_at)
    )
    return ItemMaterial(
        item=item.public_id,
        repeated=finding.type == FindingType.DUPLICATE,
        a=_candidate(finding.a_event, finding.a_time, finding.a_entry, text),
        b=_candidate(finding.b_event, finding.b_time, finding.b_entry, text),
        a_rows=a_rows,
        b_rows=b_rows,
        note=text.text,
        both_have_spans=comparison.first.inventory_id is not None
        and comparison.second.inventory_id is not None,
        series=_load_series(encounter, finding),
        stay_hours=discharged,
        admitted_at=encounter.admitted_at,
    )


def _finding(item: PacketItem) -> Finding:
    joined = (
        "game__comparison__encounter",
        "game__comparison__first",
        "game__comparison__second",
        "a_entry__occurrence",
        "b_entry__occurrence",
    )
    return Finding.objects.select_related(*joined).get(pk=item.finding_id)


def _encounter(item: PacketItem) -> Encounter:
    return Encounter.objects.get(comparisons__games__findings__items=item)


def _candidate(
    event: str | None, time: int | None, entry: Entry | None, text: StayText
) -> CandidateRow | None:
    if event is None:
        return None
    occurrence = entry.occurrence if entry is not None else None
    if occurrence is None:
        return CandidateRow(event, time)
    inventory = occurrence.inventory_id
    start, end = text.place(inventory, occurrence.start), text.place(inventory, occurrence.end)
    if start is None or end is None:
        return CandidateRow(event, time)
    return CandidateRow(event, time, (start, end))


def _timeline_rows(timeline: Timeline) -> tuple[tuple[str, float | None], ...]:
    rows = timeline.entries.order_by("pk").values_list("occurrence__mention", "event", "time")
    return tuple((mention if mention is not None else event, time) for mention, event, time in rows)


def _series(encounter: Encounter) -> list[EventSeries]:
    return list(EventSeries.objects.filter(encounter=encounter).order_by("event"))


def _events(finding: Finding) -> list[str]:
    return [event for event in (finding.a_event, finding.b_event) if event is not None]


def _load_series(encounter: Encounter, finding: Finding) -> tuple[RecordSeries, ...]:
    """Return all series; the first ones on the page have their rows."""
    series = _series(encounter)
    first = series_order([_convert_series(s, ()) for s in series], _events(finding))[
        :SERIES_WITH_ROWS
    ]
    rows = _rows(encounter, [series[index] for index in first])
    return tuple(_convert_series(s, rows.get(s.pk, ())) for s in series)


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
