"""Serve one timeline of a case as a file.

A case is small, so the file is made within the request. The page and the API serve the same.
"""

from __future__ import annotations

from django.http import Http404, HttpResponse

from accounts.audit.trail import record
from accounts.scoping import StudyRequest
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import load_choices
from timelines.cases.exporting.case_export import CaseExport
from timelines.cases.exporting.formats import FORMATS
from timelines.cases.opening import chosen_timeline, open_case


def case_file(request: StudyRequest, public_id: str, format: str) -> HttpResponse:
    """Return the timeline `t` of a case as a file.

    `text=1` adds words of the note. The audit trail records it as an exposure. Raises Http404, NotAllowed, NoteChanged.
    """
    encounter = open_case(request, public_id)
    choices = load_choices(encounter, hidden=hidden_timelines(request.user, encounter))
    if format not in FORMATS or not choices:
        raise Http404
    chosen, with_text = chosen_timeline(request, choices), request.GET.get("text") == "1"
    kind = FORMATS[format]
    content = kind.write(CaseExport(encounter, chosen, choices, with_text))
    record(
        actor=request.user,
        study=encounter.dataset.study,
        action="case.export",
        object_type="ehr.encounter",
        object_id=public_id,
        detail={"format": format, "timeline": chosen.public_id, "text": with_text},
    )
    name = f"timeline-{public_id}-{chosen.public_id}.{kind.ending}"
    response = HttpResponse(content, content_type=kind.content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
