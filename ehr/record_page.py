"""What the record page reads: a page of series with their shapes, and the rows of one series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Func, QuerySet, TextField, Value

from ehr.models import Encounter, EventSeries, SourceRow
from ehr.sparkline import Sparkline, sparkline
from ehr.wording import clock_words, hours_words


@dataclass(frozen=True, slots=True)
class SeriesFilter:
    category: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class SeriesLine:
    """One series as the page lists it; first and last as hours from admission in words."""

    id: int
    category: str
    name: str
    count: int
    first: str
    last: str
    shape: Sparkline | None
    latest: str
    summary: str


@dataclass(frozen=True, slots=True)
class RowLine:
    index: int
    hours: str
    clock: str
    value: str
    unit: str
    time_kind: str
    source: str
    known_from: str


def _category() -> Func:
    return Func(F("event"), Value(":"), Value(1), function="split_part", output_field=TextField())


def series_of(encounter: Encounter, wanted: SeriesFilter) -> QuerySet[EventSeries]:
    """The encounter's series in clinical priority, narrowed."""
    found = EventSeries.objects.filter(encounter=encounter).annotate(category=_category()).order_by("priority", "-count", "event")
    if wanted.category:
        found = found.filter(category=wanted.category)
    if wanted.text:
        found = found.filter(event__icontains=wanted.text)
    return found


def categories_of(encounter: Encounter) -> list[tuple[str, int]]:
    """(category, number of series) in clinical priority."""
    counted = EventSeries.objects.filter(encounter=encounter).annotate(category=_category()).order_by().values("category")
    return [(c["category"], c["n"]) for c in counted.annotate(n=Count("id")).order_by("-n", "category")]


def series_lines(encounter: Encounter, series: Sequence[EventSeries]) -> list[SeriesLine]:
    """Lines for one page of series: one query for all their rows."""
    wanted = [i for s in series for i in s.row_indices]
    observed: dict[str, list[tuple[datetime, str, float | None, str]]] = defaultdict(list)
    rows = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id, encounter_id=encounter.pk, row_index__in=wanted, time__isnull=False
    ).order_by("time", "row_index")
    for event, time, value, number, unit in rows.values_list("event", "time", "value", "numeric_value", "unit"):
        observed[event].append((time, value, number, unit))
    return [_line(encounter, s, observed[s.event]) for s in series]


def _line(encounter: Encounter, series: EventSeries, observed: Sequence[tuple[datetime, str, float | None, str]]) -> SeriesLine:
    category, _, name = series.event.partition(":")
    points = [(_hours(encounter, time), number) for time, _, number, _ in observed if number is not None]
    _, value, _, unit = observed[-1] if observed else (None, "", None, "")
    return SeriesLine(
        id=series.pk,
        category=category,
        name=name.strip(":").replace(":", " · ") or category,
        count=series.count,
        first=hours_words(_hours(encounter, series.first)) if series.first else "",
        last=hours_words(_hours(encounter, series.last)) if series.last else "",
        shape=sparkline(points),
        latest=f"{value} {unit}".strip(),
        summary=series.summary,
    )


def row_lines(encounter: Encounter, indices: Sequence[int]) -> list[RowLine]:
    """The rows with these indices, in time order."""
    rows = SourceRow.objects.filter(dataset_id=encounter.dataset_id, encounter_id=encounter.pk, row_index__in=list(indices))
    return [
        RowLine(
            index=row.row_index,
            hours=hours_words(_hours(encounter, row.time)) if row.time else "no time",
            clock=clock_words(encounter.admitted_at, row.time) if row.time else "",
            value=row.value,
            unit=row.unit,
            time_kind=row.time_kind,
            source=row.source,
            known_from=hours_words(_hours(encounter, row.result_time)) if row.result_time else "",
        )
        for row in rows.order_by("time", "row_index")
    ]


def _hours(encounter: Encounter, time: datetime) -> float:
    return (time - encounter.admitted_at).total_seconds() / 3600
