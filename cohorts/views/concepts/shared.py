"""What the views of concepts share."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.scoping import StudyRequest
from accounts.wording import format_count
from cohorts.models import Concept


def find_concept(request: StudyRequest, public_id: str) -> Concept:
    """Return a concept of the active study; 404 for any other."""
    concepts = Concept.objects.select_related("study", "created_by")
    return get_object_or_404(concepts, public_id=public_id, study=request.study)


def back_to(concept: Concept, query: str = "") -> HttpResponseRedirect:
    """Return to the page of a concept."""
    address = reverse("cohorts:concept", args=[concept.public_id])
    return HttpResponseRedirect(f"{address}?{query}" if query else address)


def say_proposed(request: StudyRequest, new: int) -> None:
    """Say how many members were proposed."""
    if new:
        messages.success(request, f"{format_count(new, 'new member')} proposed. Accept or reject.")
    else:
        messages.info(request, "Nothing new was found.")
