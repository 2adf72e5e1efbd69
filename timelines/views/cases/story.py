"""Pin and unpin a milestone of the story; the answer is the new story."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import load_choices
from timelines.cases.items import find_occurrence
from timelines.cases.opening import open_case
from timelines.cases.pins import pin_milestone
from timelines.cases.story import load_story, load_story_lines
from timelines.cases.way_back import link_back_to_draft


@require_POST
@study_role_required(*CASE_READERS)
@link_back_to_draft
def pin(request: StudyRequest, public_id: str, uid4: str) -> HttpResponse:
    """Pin the occurrence, or unpin it without `pinned=1`; `t` is the timeline."""
    encounter = open_case(request, public_id)
    choices = load_choices(encounter, hidden=hidden_timelines(request.user, encounter))
    chosen = choices.find(request.POST.get("t", "")) if choices else None
    occurrence = find_occurrence(chosen, uid4) if chosen else None
    if chosen is None or occurrence is None:
        raise Http404
    pin_milestone(occurrence=occurrence, pinned=request.POST.get("pinned") == "1", by=request.user)
    if not request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        return redirect(f"{reverse('timelines:case', args=[public_id])}?t={chosen.public_id}")
    record(
        actor=request.user,
        study=encounter.dataset.study,
        action="case.open",
        object_type="ehr.encounter",
        object_id=public_id,
        detail={"timelines": True},
    )
    context = {
        "encounter": encounter,
        "chosen": chosen,
        "story": load_story(encounter, chosen, load_story_lines(encounter, chosen, choices)),
    }
    return render(request, "timelines/cases/_story.html", context)
