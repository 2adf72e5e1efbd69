"""Search over the notes and occurrences of the study.

The searched text is only in the request's body. The audit trail has the cases that were shown,
without the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.audit.trail import record_each
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Encounter
from jobs.models import JobState
from timelines.access.asking import ask_first
from timelines.access.closed import closed_encounters
from timelines.cases.neighbours import MAX_IDS, remember_cases
from timelines.models import MeaningSearch
from timelines.search.meaning import find_by_meaning, has_vectors, start_meaning_search
from timelines.search.meaning import load_hits as load_meaning_hits
from timelines.search.terms import MAX_TEXT, Term, parse_terms
from timelines.search.values import PAGE_SIZE, CaseHits
from timelines.search.words import find_by_words, load_hits


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def search(request: StudyRequest) -> HttpResponse:
    """Show what a search found, a page of cases; htmx gets the results alone."""
    study, text = request.study, request.POST.get("text", "").strip()[:MAX_TEXT]
    mode = "meaning" if request.POST.get("mode") == "meaning" else "words"
    terms = parse_terms(text)
    context: dict[str, Any] = {"study": study, "text": text, "mode": mode, "terms": terms}
    context["search"] = {"text": text, "mode": mode}
    if terms and mode == "words":
        context |= _search_words(request, terms)
    elif terms:
        context |= _search_meaning(request, text)
    context["search"] |= {"asked": asked.public_id} if (asked := context.get("asked")) else {}
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    name = "_results.html" if partial else "page.html"
    response = render(request, f"timelines/search/{name}", context)
    response["Vary"] = "HX-Request"
    return response


def _search_words(request: StudyRequest, terms: Sequence[Term]) -> dict[str, Any]:
    found = find_by_words(request.study, terms, closed_encounters(request.user))
    return _show(request, found.encounters, lambda pks: load_hits(request.study, pks, terms)) | {
        "capped": found.capped
    }


def _search_meaning(request: StudyRequest, text: str) -> dict[str, Any]:
    """Show the results of the asked search, or wait for them."""
    own = MeaningSearch.objects.filter(person=request.user, study=request.study)
    asked = own.filter(public_id=request.POST.get("asked", "")).first()
    if asked is None:
        asked = start_meaning_search(study=request.study, text=text, by=request.user)
    if asked.state != JobState.SUCCEEDED:
        return {"asked": asked, "failed": asked.state in (JobState.FAILED, JobState.CANCELLED)}
    if not has_vectors(asked):
        return {"asked": asked, "unindexed": True}
    found = find_by_meaning(asked, closed_encounters(request.user))
    shown = _show(
        request, found.encounters, lambda pks: load_meaning_hits(request.study, pks, found)
    )
    return shown | {"asked": asked}


def _show(
    request: StudyRequest,
    encounters: Sequence[int],
    load: Callable[[Sequence[int]], list[CaseHits]],
) -> dict[str, Any]:
    """Return the hits of the requested page, and record and remember them."""
    page = Paginator(encounters, PAGE_SIZE).get_page(request.POST.get("page"))
    hits = load(list(page.object_list))
    _record(request, hits)
    _remember(request, encounters)
    return {"page": page, "hits": hits}


def _record(request: StudyRequest, hits: Sequence[CaseHits]) -> None:
    """Record the shown cases: those with something of a timeline apart.

    Raises AskFirst for a case that the person has to be asked about.
    """
    ask_first(request.user, [h.encounter.public_id for h in hits if h.shows_times])
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
