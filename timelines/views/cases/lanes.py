"""The record's rows for the lanes of the case page, as JSON.

The page has the occurrences; its scripts fetch this when the lanes are first shown.
"""

from __future__ import annotations

from django.http import Http404, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_GET

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import load_choices
from timelines.cases.lanes import find_tracks
from timelines.cases.opening import chosen_timeline, open_case
from timelines.cases.pairs import find_pairs
from timelines.cases.way_back import link_back_to_draft


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def lanes(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Return the tracks of one timeline (`t`, `e` and `b` as on the page)."""
    encounter = open_case(request, public_id)
    choices = load_choices(encounter, hidden=hidden_timelines(request.user, encounter))
    if not choices:
        raise Http404
    chosen = chosen_timeline(request, choices)
    found = find_tracks(encounter, chosen, choices, find_pairs(request, encounter, chosen))
    record(
        actor=request.user,
        study=encounter.dataset.study,
        action="case.lanes",
        object_type="ehr.encounter",
        object_id=public_id,
    )
    return JsonResponse(found)
