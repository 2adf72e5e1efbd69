"""Search over the notes and occurrences of the study.

The searched text is only in the request's body. The audit trail has the cases that were shown,
without the words.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.audit.trail import record_each
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Encounter
from timelines.access.closed import closed_encounters
from timelines.cases.neighbours import MAX_IDS, remember_cases
from timelines.search.terms import MAX_TEXT, parse_terms
from timelines.search.values import PAGE_SIZE, CaseHits
from timelines.search.words import find_by_words, load_hits


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def search(request: StudyRequest) -> HttpResponse:
    """Show what a search found, a page of cases; htmx gets the results alone."""
    study, text = request.study, request.POST.get("text", "").strip()[:MAX_TEXT]
    terms = parse_terms(text)
    closed = closed_encounters(request.user)
    context = {"study": study, "text": text, "terms": terms, "search": {"text": text}}
    if terms:
        found = find_by_words(study, terms, closed)
        page = Paginator(found.encounters, PAGE_SIZE).get_page(request.POST.get("page"))
        hits = load_hits(study, list(page.object_list), terms)
        _record(request, hits)
        _remember(request, found.encounters)
        context |= {"found": found, "page": page, "hits": hits}
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    name = "_results.html" if partial else "page.html"
    response = render(request, f"timelines/search/{name}", context)
    response["Vary"] = "HX-Request"
    return response


def _record(request: StudyRequest, hits: Sequence[CaseHits]) -> None:
    """Record the shown cases: those with something of a timeline apart."""
    for action, exposing in (("case.search", True), ("note.search", False)):
        record_each(
            actor=request.user,
            study=request.study,
            action=action,
            object_type="ehr.encounter",
            object_ids=[h.encounter.public_id for h in hits if h.shows_times is exposing],
        )


def _remember(request: StudyRequest, encounters: Sequence[int]) -> None:
    first = list(encounters[:MAX_IDS])
    ids = dict(Encounter.objects.filter(pk__in=first).values_list("pk", "public_id"))
    remember_cases(request, request.study, [ids[pk] for pk in first])
