"""The history of an authored timeline, and files of its submission.

For its author only.
"""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.record.clock import clock_of
from timelines.authoring.download import FORMATS
from timelines.authoring.download import download as made_file
from timelines.authoring.edits import load_log, stored_change
from timelines.authoring.opening import audit_view, own_authoring
from timelines.drafts.undoing import find_undone
from timelines.presentation.authoring.history import history_line

EDITS_PER_PAGE = 200


@require_GET
@study_role_required(*CASE_READERS)
def history(request: StudyRequest, public_id: str) -> HttpResponse:
    """Every edit in words, latest first."""
    authoring = own_authoring(request, public_id)
    clock = clock_of(authoring.encounter)
    page = Paginator(
        authoring.edits.select_related("undoes").order_by("-number"), EDITS_PER_PAGE
    ).get_page(request.GET.get("page"))
    lines = [
        (
            e,
            history_line(
                e.kind, stored_change(e), e.undoes.kind if e.undoes else "", e.reason, clock
            ),
        )
        for e in page.object_list
    ]
    context = {
        "authoring": authoring,
        "encounter": authoring.encounter,
        "page": page,
        "lines": lines,
        "taken_back": find_undone(load_log(authoring)),
    }
    audit_view(request, authoring, "authoring.history")
    return render(request, "timelines/authoring/history.html", context)


@require_GET
@study_role_required(*CASE_READERS)
def download(request: StudyRequest, public_id: str, format: str) -> HttpResponse:
    """Return the last submitted timeline as a file.

    404 for an unknown format and before the first submission.
    """
    authoring = own_authoring(request, public_id)
    if format not in FORMATS:
        raise Http404
    try:
        name, content = made_file(authoring, format)
    except LookupError:
        raise Http404 from None
    audit_view(request, authoring, "authoring.download", format=format)
    return HttpResponse(
        content,
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
