"""The list of cases.

Filters may be in the address; the searched text is only in the request's body.
"""

from __future__ import annotations

from dataclasses import asdict

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Dataset
from timelines.access.closed import closed_encounters
from timelines.case_state import CaseState
from timelines.cases.listing import CaseFilter, case_rows, find_cases
from timelines.cases.neighbours import remember_list

PAGE_SIZE = 50
SORT_LABELS = (
    ("case", "case id, a to z"),
    ("-case", "case id, z to a"),
    ("-admitted", "latest admission first"),
    ("admitted", "earliest admission first"),
    ("-rows", "most rows first"),
    ("rows", "fewest rows first"),
)


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def cases(request: StudyRequest) -> HttpResponse:
    """All cases of the active study that match; htmx gets the list alone."""
    study = request.study
    parameters = request.POST if request.method == "POST" else request.GET
    wanted = CaseFilter.parse(parameters.dict(), text=request.POST.get("text", ""))
    closed = closed_encounters(request.user)
    found = find_cases(study, wanted, closed)
    page = Paginator(found, PAGE_SIZE).get_page(parameters.get("page"))
    remember_list(request, study, wanted, found)
    context = {
        "study": study,
        "wanted": wanted,
        "search": asdict(wanted),
        "page": page,
        "rows": case_rows(list(page.object_list), closed=closed),
        "datasets": Dataset.objects.filter(study=study)
        .order_by("name")
        .values_list("public_id", "name"),
        "states": [(state, state.label) for state in CaseState],
        "sorts": SORT_LABELS,
        "any_case": bool(page.paginator.count) or find_cases(study, CaseFilter()).exists(),
    }
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    response = render(
        request,
        "timelines/cases/_list.html" if partial else "timelines/cases/list.html",
        context | {"partial": partial},
    )
    response["Vary"] = "HX-Request"
    return response
