"""Find more members: rules, search by meaning, vectors."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.models import Role
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.concepts.actions import add_rule, end_rule, propose
from cohorts.concepts.embedding import rebuild_vectors
from cohorts.concepts.matching import find_by_meaning
from cohorts.concepts.values import ConceptRefused, Rule
from cohorts.models import ConceptRule
from cohorts.views.concepts.shared import back_to, find_concept, say_proposed
from jobs.models import JobState
from timelines.access.closed import closed_encounters
from timelines.models import MeaningSearch
from timelines.search.meaning import start_meaning_search
from timelines.search.terms import MAX_TEXT


@require_POST
@study_role_required(*CASE_READERS)
def concept_rule_add(request: StudyRequest, public_id: str) -> HttpResponse:
    """Store a rule and propose what it finds now."""
    concept, given = find_concept(request, public_id), request.POST
    try:
        rule = Rule(
            given.get("kind", ""),
            given.get(f"value_{given.get('kind', '')}", given.get("value", "")).strip(),
            tuple(given.getlist("polarities")),
            tuple(given.getlist("lanes")),
        )
        closed = closed_encounters(request.user)
        say_proposed(
            request, add_rule(concept=concept, rule=rule, closed=closed, by=request.user)[1]
        )
    except ConceptRefused as refused:
        messages.error(request, str(refused))
    return back_to(concept)


@require_POST
@study_role_required(*CASE_READERS)
def concept_rule_end(request: StudyRequest, public_id: str) -> HttpResponse:
    """End a rule of the concept."""
    concept = find_concept(request, public_id)
    rules = ConceptRule.objects.filter(concept=concept)
    end_rule(rule=get_object_or_404(rules, public_id=request.POST.get("rule", "")), by=request.user)
    return back_to(concept)


@require_POST
@study_role_required(*CASE_READERS)
def concept_meaning(request: StudyRequest, public_id: str) -> HttpResponse:
    """Start a search by meaning, or propose what one found."""
    concept, text = find_concept(request, public_id), request.POST.get("text", "").strip()
    if text:
        asked = start_meaning_search(study=request.study, text=text[:MAX_TEXT], by=request.user)
        return back_to(concept, f"asked={asked.public_id}")
    search = None
    if "asked" in request.POST:
        own = MeaningSearch.objects.filter(person=request.user, study=request.study)
        search = own.filter(public_id=request.POST["asked"], state=JobState.SUCCEEDED).first()
        if search is None:
            raise Http404
    found = find_by_meaning(
        concept, closed_encounters(request.user), search=search.pk if search else None
    )
    try:
        say_proposed(request, propose(concept=concept, found=found, by=request.user))
    except ConceptRefused as refused:
        messages.error(request, str(refused))
    return back_to(concept)


@require_POST
@study_role_required(Role.ADMIN)
def concept_vectors(request: StudyRequest) -> HttpResponse:
    """Embed mentions that have no vector, in a job."""
    count = rebuild_vectors(study=request.study, by=request.user)
    if count:
        messages.success(request, "A worker embeds the missing mentions.")
    else:
        messages.info(request, "This study has no study timeline, or its mentions wait already.")
    return redirect("cohorts:concepts")
