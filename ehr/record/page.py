"""The data of the record page.

These are a page of series with their shapes, the rows of one series, and the rows outside any
series.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Func, Min, QuerySet, TextField, Value

from ehr.models import Encounter, EventSeries, RejectedRow, SourceRow
from ehr.presentation.clock import Moment
from ehr.presentation.sparkline import Sparkline, sparkline
from ehr.presentation.wording import (
    category_words,
    event_words,
    name_words,
    time_kind_words,
    value_words,
)
from ehr.record.clock import clock_of


@dataclass(frozen=True, slots=True)
class SeriesFilter:
    category: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class SeriesLine:
    """One series as the page lists it."""

    id: int
    category: str
    name: str
    count: int
    first: Moment | None
    last: Moment | None
    shape: Sparkline | None
    latest: str
    summary: str


@dataclass(frozen=True, slots=True)
class RowLine:
    """One raw row.

    `at` is None for a row without a time, `known_from` if the source has no time of the result.
    """

    index: int
    time: datetime | None
    at: Moment | None
    event: str
    value: str
    time_kind: str
    source: str
    known_from: Moment | None


#: time, value, number, unit
_Observed = tuple[datetime | None, str, float | None, str]


def _category() -> Func:
    return Func(F("event"), Value(":"), Value(1), function="split_part", output_field=TextField())


def find_series(
    encounter: Encounter, wanted: SeriesFilter = SeriesFilter()
) -> QuerySet[EventSeries]:
    """The encounter's series in clinical priority, narrowed."""
    found = EventSeries.objects.filter(encounter=encounter).order_by("priority", "-count", "event")
    if wanted.category:
        found = found.annotate(category=_category()).filter(category=wanted.category)
    if wanted.text:
        found = found.filter(event__icontains=wanted.text)
    return found


def count_categories(encounter: Encounter) -> list[tuple[str, str]]:
    """Return (category, words with its number of series) by clinical priority."""
    named = (
        EventSeries.objects.filter(encounter=encounter)
        .annotate(category=_category())
        .order_by()
        .values("category")
    )
    counted = named.annotate(n=Count("id"), place=Min("priority")).order_by("place", "category")
    return [(c["category"], f"{category_words(c['category'])} ({c['n']})") for c in counted]


def series_lines(encounter: Encounter, series: Sequence[EventSeries]) -> list[SeriesLine]:
    """Lines for one page of series: one query for all their rows."""
    observed: dict[str, list[_Observed]] = defaultdict(list)
    rows = (
        _rows(encounter)
        .filter(event__in=[s.event for s in series], time__isnull=False)
        .order_by("time", "row_index")
    )
    for event, time, value, number, unit in rows.values_list(
        "event", "time", "value", "numeric_value", "unit"
    ):
        observed[event].append((time, value, number, unit))
    return [_line(encounter, s, observed[s.event]) for s in series]


def _line(encounter: Encounter, series: EventSeries, observed: Sequence[_Observed]) -> SeriesLine:
    clock = clock_of(encounter)
    points = [
        (clock.hours(time), number)
        for time, _, number, _ in observed
        if time is not None and number is not None
    ]
    _, value, _, unit = observed[-1] if observed else (None, "", None, "")
    return SeriesLine(
        id=series.pk,
        category=category_words(series.event.partition(":")[0]),
        name=name_words(series.event),
        count=series.count,
        first=_moment(encounter, series.first),
        last=_moment(encounter, series.last),
        shape=sparkline(points),
        latest=value_words(value, unit),
        summary=series.summary,
    )


def row_lines(encounter: Encounter, indices: Sequence[int]) -> list[RowLine]:
    """Return the rows with these indices, in time order.

    Rows without a time are in order of name.
    """
    rows = (
        _rows(encounter).filter(row_index__in=list(indices)).order_by("time", "event", "row_index")
    )
    return [_row_line(encounter, row) for row in rows]


def sort_rows(encounter: Encounter, series: EventSeries) -> list[int]:
    """The row indices of a series by time, as its table pages them."""
    rows = (
        _rows(encounter)
        .filter(event=series.event, time__isnull=False)
        .order_by("time", "row_index")
    )
    return list(rows.values_list("row_index", flat=True))


def untimed_indices(encounter: Encounter) -> list[int]:
    """Return the rows without a time (billing codes and the like), by name.

    No series has them.
    """
    rows = _rows(encounter).filter(time__isnull=True).order_by("event", "row_index")
    return list(rows.values_list("row_index", flat=True))


def find_rejections(encounter: Encounter) -> QuerySet[RejectedRow]:
    """Return the import's rejections of this case.

    They include rows with an unreadable time.
    """
    return RejectedRow.objects.filter(
        dataset_id=encounter.dataset_id, case_id=encounter.case_id
    ).order_by("file", "line", "pk")


def find_row_series(encounter: Encounter, row_index: int) -> EventSeries | None:
    """Return the series of the row.

    Returns None for a row without a time or of another record.
    """
    event = _rows(encounter).filter(row_index=row_index, time__isnull=False).values("event")
    return EventSeries.objects.filter(encounter=encounter, event__in=event).first()


def _rows(encounter: Encounter) -> QuerySet[SourceRow]:
    """Both keys, so that one partition alone is read."""
    return SourceRow.objects.filter(dataset_id=encounter.dataset_id, encounter_id=encounter.pk)


def _row_line(encounter: Encounter, row: SourceRow) -> RowLine:
    return RowLine(
        index=row.row_index,
        time=row.time,
        at=_moment(encounter, row.time),
        event=event_words(row.event),
        value=value_words(row.value, row.unit),
        time_kind=time_kind_words(row.time_kind),
        source=row.source,
        known_from=_moment(encounter, row.result_time),
    )


def _moment(encounter: Encounter, time: datetime | None) -> Moment | None:
    clock = clock_of(encounter)
    return None if time is None else clock.read(clock.hours(time))
