"""Change a concept: its words, its members' states, its versions."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, study_role_required
from accounts.wording import format_count
from cohorts.concepts.access import CLOSED, is_closed
from cohorts.concepts.actions import archive_concept, decide, describe_concept, make_version
from cohorts.concepts.values import ConceptRefused
from cohorts.views.concepts.shared import back_to, find_concept
from timelines.access.closed import closed_encounters


@require_POST
@study_role_required(*CASE_READERS)
def concept_describe(request: StudyRequest, public_id: str) -> HttpResponse:
    """Rename and describe."""
    concept = find_concept(request, public_id)
    name, description = request.POST.get("name", ""), request.POST.get("description", "")
    try:
        describe_concept(concept=concept, name=name, description=description, by=request.user)
    except ConceptRefused as refused:
        messages.error(request, str(refused))
    return back_to(concept)


@require_POST
@study_role_required(*CASE_READERS)
def concept_archive(request: StudyRequest, public_id: str) -> HttpResponse:
    """Archive; only admins may."""
    concept = find_concept(request, public_id)
    archive_concept(concept=concept, by=request.user)
    messages.success(request, f"“{concept.name}” is archived. What uses it keeps its versions.")
    return redirect("cohorts:concepts")


@require_POST
@study_role_required(*CASE_READERS)
def concept_decide(request: StudyRequest, public_id: str) -> HttpResponse:
    """Accept or reject the checked members."""
    concept = find_concept(request, public_id)
    accepted = request.POST.get("answer") == "accept"
    try:
        if request.POST.get("answer") not in ("accept", "reject"):
            raise ConceptRefused("Choose to accept or to reject.")
        count = decide(
            concept=concept,
            members=request.POST.getlist("members"),
            accepted=accepted,
            reason=request.POST.get("reason", ""),
            closed=closed_encounters(request.user),
            by=request.user,
        )
        verb = "accepted" if accepted else "rejected"
        messages.success(request, f"{format_count(count, 'member')} {verb}.")
    except ConceptRefused as refused:
        messages.error(request, str(refused))
    return back_to(concept, request.GET.urlencode())


@require_POST
@study_role_required(*CASE_READERS)
def concept_version(request: StudyRequest, public_id: str) -> HttpResponse:
    """Freeze the accepted members."""
    concept = find_concept(request, public_id)
    if is_closed(request.study, closed_encounters(request.user)):
        raise NotAllowed(CLOSED)
    try:
        made = make_version(concept=concept, by=request.user)
        if made is None:
            messages.info(request, "The newest version has exactly these members.")
        else:
            messages.success(request, f"Version {made.number} is made.")
    except ConceptRefused as refused:
        messages.error(request, str(refused))
    return back_to(concept)
