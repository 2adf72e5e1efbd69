"""Concepts as JSON files."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, study_role_required
from cohorts.concepts.access import CLOSED, is_closed
from cohorts.concepts.portable import import_concept, write_concept
from cohorts.concepts.unblinding import note_opening
from cohorts.concepts.values import ConceptRefused
from cohorts.views.concepts.shared import find_concept, say_proposed
from timelines.access.closed import closed_encounters


@require_GET
@study_role_required(*CASE_READERS)
def concept_export(request: StudyRequest, public_id: str) -> HttpResponse:
    """Return the concept as JSON, unless cases are closed to the person."""
    concept = find_concept(request, public_id)
    if is_closed(request.study, closed_encounters(request.user)):
        raise NotAllowed(CLOSED)
    note_opening(concept, request.user)
    record(
        actor=request.user,
        study=request.study,
        action="concept.export",
        object_type="cohorts.concept",
        object_id=concept.public_id,
    )
    content = json.dumps(write_concept(concept), indent=2, ensure_ascii=False) + "\n"
    response = HttpResponse(content, content_type="application/json; charset=utf-8")
    name = f'attachment; filename="concept-{concept.public_id}.json"'
    response["Content-Disposition"] = name
    return response


@require_POST
@study_role_required(*CASE_READERS)
def concept_import(request: StudyRequest) -> HttpResponse:
    """Create a concept from a file, or add what it lacks."""
    text = request.POST.get("content", "")
    try:
        if not text.strip():
            raise ConceptRefused("Choose a JSON file, or paste its text.")
        concept, new = import_concept(
            study=request.study,
            content=text.encode(),
            accept="accept" in request.POST,
            closed=closed_encounters(request.user),
            by=request.user,
        )
    except ConceptRefused as refused:
        messages.error(request, str(refused))
        return redirect("cohorts:concepts")
    say_proposed(request, new)
    return redirect("cohorts:concept", concept.public_id)
