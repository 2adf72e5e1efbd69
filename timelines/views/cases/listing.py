"""The list of cases.

The address has the filters and the order; the searched text is only in the request's body.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Dataset
from timelines.access.closed import closed_encounters
from timelines.case_state import CaseState
from timelines.cases.listing import CaseFilter, case_rows, find_cases
from timelines.cases.neighbours import remember_list
from timelines.registry import case_questions

PAGE_SIZE = 50
#: name, words and class of the heads that sort; None does not sort.
HEADS = (
    ("title", "Case", ""),
    ("case", "Case id", ""),
    ("cohort", "Cohort", "extra"),
    ("admitted", "Admitted", ""),
    ("stay", "Stay", "num"),
)
SORT_LABELS = (
    ("case", "case id, a to z"),
    ("-case", "case id, z to a"),
    ("title", "case, a to z"),
    ("-title", "case, z to a"),
    ("cohort", "cohort, a to z"),
    ("-cohort", "cohort, z to a"),
    ("-admitted", "latest admission first"),
    ("admitted", "earliest admission first"),
    ("-stay", "longest stay first"),
    ("stay", "shortest stay first"),
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
        "search": {**wanted.parameters, "text": wanted.text},
        "heads": [_head(wanted, *head) for head in HEADS],
        "page": page,
        "rows": case_rows(list(page.object_list), closed=closed),
        "datasets": Dataset.objects.filter(study=study)
        .order_by("name")
        .values_list("public_id", "name"),
        "states": [(state, state.label) for state in CaseState],
        "questions": _questions(wanted),
        "choices": " ".join(f"case-{name}" for name in ("dataset", "state", *case_questions())),
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
    if partial:
        turned = {"page": str(page.number)} if page.number > 1 else {}
        response["HX-Push-Url"] = _address({**wanted.parameters, **turned})
    return response


def _address(parameters: dict[str, str]) -> str:
    query = urlencode(parameters)
    return f"{reverse('timelines:cases')}{'?' if query else ''}{query}"


def _head(wanted: CaseFilter, name: str, words: str, look: str) -> dict[str, str]:
    sort = wanted.next_sort(name)
    address = _address({**wanted.parameters, "sort": sort})
    state = wanted.direction(name)
    return {"words": words, "look": look, "state": state, "sort": sort, "address": address}


def _questions(wanted: CaseFilter) -> list[dict[str, object]]:
    given = {name: "yes" if answer else "no" for name, answer in wanted.answers}
    return [
        {
            "id": f"case-{q.name}",
            "name": q.name,
            "label": q.label,
            "options": [("yes", q.yes), ("no", q.no)],
            "chosen": given.get(q.name, ""),
        }
        for q in case_questions().values()
    ]
