"""The list of concepts."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import CASE_READERS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from cohorts.concepts.actions import create_concept
from cohorts.concepts.listing import list_lines
from cohorts.concepts.matching import count_missing_vectors
from cohorts.concepts.values import ConceptRefused
from cohorts.models import Concept
from timelines.access.closed import closed_encounters


@require_GET
@study_role_required(*CASE_READERS)
def concepts(request: StudyRequest) -> HttpResponse:
    """List the concepts that are not archived."""
    study, closed = request.study, closed_encounters(request.user)
    every = list(Concept.objects.filter(study=study, archived_at__isnull=True))
    lines = list_lines(study, every, closed)
    admin = user_can_manage_study(request.user, study)
    context = {
        "lines": lines,
        "waiting": sum(line.waiting for line in lines),
        "unembedded": count_missing_vectors(study) if admin else 0,
    }
    return render(request, "cohorts/concepts/list.html", context)


@require_POST
@study_role_required(*CASE_READERS)
def concept_create(request: StudyRequest) -> HttpResponse:
    """Create a concept and open it."""
    try:
        made = create_concept(
            study=request.study,
            name=request.POST.get("name", ""),
            description=request.POST.get("description", ""),
            by=request.user,
        )
    except ConceptRefused as refused:
        messages.error(request, str(refused))
        return redirect("cohorts:concepts")
    return redirect("cohorts:concept", made.public_id)
