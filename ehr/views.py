"""The structured record of one encounter: its series, and the raw rows behind each."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_http_methods

from accounts.audit import record as audit
from accounts.permissions import CASE_READERS, check_user_can_open
from accounts.scoping import StudyRequest, scoped, study_role_required
from ehr.models import Encounter, EventSeries
from ehr.record_page import SeriesFilter, categories_of, row_lines, series_lines, series_of

SERIES_PER_PAGE = 60
ROWS_PER_PAGE = 200


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def record(request: StudyRequest, public_id: str) -> HttpResponse:
    """Every series with sparkline and summary; a searched text travels in the body, never in the address."""
    encounter = _opened(request, public_id)
    parameters = request.POST if request.method == "POST" else request.GET
    wanted = SeriesFilter(category=parameters.get("category", ""), text=request.POST.get("text", "").strip())
    page = Paginator(series_of(encounter, wanted), SERIES_PER_PAGE).get_page(parameters.get("page"))
    context = {
        "encounter": encounter,
        "wanted": wanted,
        "page": page,
        "lines": series_lines(encounter, list(page.object_list)),
        "categories": categories_of(encounter),
    }
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    if not partial:
        audit(actor=request.user, study=encounter.dataset.study, action="record.open", object_type="ehr.encounter", object_id=public_id)
    response = render(request, "ehr/_series_list.html" if partial else "ehr/record.html", context)
    response["Vary"] = "HX-Request"
    return response


@require_GET
@study_role_required(*CASE_READERS)
def series_rows(request: StudyRequest, public_id: str, series_id: int) -> HttpResponse:
    """The raw rows of one series, paged."""
    encounter = _opened(request, public_id)
    series = get_object_or_404(EventSeries, pk=series_id, encounter=encounter)
    page = Paginator(series.row_indices, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"encounter": encounter, "series": series, "page": page, "rows": row_lines(encounter, list(page.object_list))}
    return render(request, "ehr/_series_rows.html", context)


def _opened(request: StudyRequest, public_id: str) -> Encounter:
    encounter = get_object_or_404(
        scoped(Encounter.objects.select_related("dataset__study"), request.user, "dataset__study"), public_id=public_id
    )
    check_user_can_open(request.user, encounter.dataset.study, "ehr.encounter", public_id)
    return encounter
