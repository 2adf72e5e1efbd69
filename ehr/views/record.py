"""Pages of one encounter's structured record: series and raw rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Encounter, EventSeries
from ehr.record.charts import describe_note, list_notes
from ehr.record.opening import audit_view, open_encounter
from ehr.record.page import (
    RowLine,
    SeriesFilter,
    count_categories,
    find_rejections,
    find_row_series,
    find_series,
    row_lines,
    series_lines,
    sort_rows,
    untimed_indices,
)

SERIES_PER_PAGE = 60
ROWS_PER_PAGE = 100
REJECTIONS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class RowPage:
    """One page of raw rows: of a series, or of the rows without a time."""

    series: EventSeries | None
    rows: Sequence[RowLine]
    page: Page[int]

    @property
    def title(self) -> str:
        return f"Rows of {self.series.event}" if self.series else "Rows without a time"

    @property
    def any_result_time(self) -> bool:
        return any(row.known_from for row in self.rows)


@dataclass(frozen=True, slots=True)
class Focus:
    """The linked row with its series and its page of rows.

    A row without a time has no series.
    """

    row: int
    series: EventSeries | None
    found: RowPage | None


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def record(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show every series with sparkline and summary.

    A searched text is in the body, never in the address. `?row=` opens one row; the case page fetches
    the list alone with it.
    """
    encounter = open_encounter(request.user, public_id)
    parameters = request.POST if request.method == "POST" else request.GET
    wanted = SeriesFilter(
        category=parameters.get("category", ""), text=request.POST.get("text", "").strip()
    )
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    row = request.GET.get("row", "")
    untimed = [] if partial and not row else untimed_indices(encounter)
    focus = _focus(encounter, row, untimed)
    series = find_series(encounter, wanted)
    page = Paginator(series, SERIES_PER_PAGE).get_page(
        _find_page(focus, series) or parameters.get("page")
    )
    context = {
        "encounter": encounter,
        "wanted": wanted,
        "search": asdict(wanted),
        "page": page,
        "lines": series_lines(encounter, list(page.object_list)),
        "focus": focus,
        "partial": partial,
    }
    if not partial:
        context |= {
            "categories": count_categories(encounter),
            "untimed_count": len(untimed),
            "rejected": find_rejections(encounter)[:REJECTIONS_SHOWN],
            "rejected_count": find_rejections(encounter).count(),
        }
    audit_view(request.user, encounter, "record.search" if partial else "record.open")
    response = render(request, "ehr/_series_list.html" if partial else "ehr/record.html", context)
    response["Vary"] = "HX-Request"
    return response


@require_GET
@study_role_required(*CASE_READERS)
def series_rows(request: StudyRequest, public_id: str, series_id: int) -> HttpResponse:
    """Show the raw rows of one series in time order.

    From page 2 on the response is only table rows, which are added to the table.
    """
    encounter = open_encounter(request.user, public_id)
    series = get_object_or_404(EventSeries, pk=series_id, encounter=encounter)
    audit_view(request.user, encounter, "record.rows", series=series.pk)
    return _rows_response(request, encounter, sort_rows(encounter, series), series)


@require_GET
@study_role_required(*CASE_READERS)
def untimed_rows(request: StudyRequest, public_id: str) -> HttpResponse:
    """The rows without a time, as `series_rows`."""
    encounter = open_encounter(request.user, public_id)
    audit_view(request.user, encounter, "record.rows", untimed=True)
    return _rows_response(request, encounter, untimed_indices(encounter), None)


@require_GET
@study_role_required(*CASE_READERS)
def note(request: StudyRequest, public_id: str, place: int) -> HttpResponse:
    """Show one note of a stay; `place` counts from 1 in order of time.

    The case page opens the text alone with it.
    """
    encounter = open_encounter(request.user, public_id)
    notes = list_notes(encounter)
    if not 1 <= place <= len(notes):
        raise Http404
    audit_view(request.user, encounter, "note.open", note=notes[place - 1].pk)
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    response = render(
        request,
        "ehr/_note.html" if partial else "ehr/note.html",
        {
            "encounter": encounter,
            "note": notes[place - 1],
            "title": describe_note(notes[place - 1]),
        },
    )
    response["Vary"] = "HX-Request"
    return response


def _rows_response(
    request: StudyRequest, encounter: Encounter, indices: Sequence[int], series: EventSeries | None
) -> HttpResponse:
    found = _row_page(encounter, series, indices, request.GET.get("page"))
    template = "ehr/_row_lines.html" if found.page.number > 1 else "ehr/_series_rows.html"
    return render(request, template, {"encounter": encounter, "found": found})


def _row_page(
    encounter: Encounter,
    series: EventSeries | None,
    indices: Sequence[int],
    number: int | str | None,
) -> RowPage:
    page = Paginator(indices, ROWS_PER_PAGE).get_page(number)
    return RowPage(series, row_lines(encounter, list(page.object_list)), page)


def _focus(encounter: Encounter, row: str, untimed: Sequence[int]) -> Focus | None:
    if not (row.isascii() and row.isdigit() and len(row) < 10):
        return None
    index = int(row)
    series = find_row_series(encounter, index)
    indices = sort_rows(encounter, series) if series else untimed
    if index not in indices:
        return None
    return Focus(
        index,
        series,
        _row_page(encounter, series, indices, indices.index(index) // ROWS_PER_PAGE + 1),
    )


def _find_page(focus: Focus | None, series: QuerySet[EventSeries]) -> int | None:
    if focus is None or focus.series is None:
        return None
    ids = list(series.values_list("pk", flat=True))
    return ids.index(focus.series.pk) // SERIES_PER_PAGE + 1
