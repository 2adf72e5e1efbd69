"""Find cases for the palette; only the body of a request has the text."""

from __future__ import annotations

from django.http import JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from timelines.access.closed import closed_encounters
from timelines.cases.finding import find_by_words


@require_POST
@study_role_required(*CASE_READERS)
def case_find(request: StudyRequest) -> JsonResponse:
    """Answer with cases whose case id or title has `text`.

    Each has `url`, `label` and `detail`.
    """
    closed = closed_encounters(request.user)
    found = find_by_words(request.study, request.POST.get("text", ""), closed)
    lines = [
        {"url": reverse("timelines:case", args=[c.public_id]), "label": c.label, "detail": c.detail}
        for c in found
    ]
    return JsonResponse(lines, safe=False)
