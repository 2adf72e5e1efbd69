"""Downloads of a case: one timeline as a file."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from timelines.cases.exporting.serving import case_file
from timelines.cases.opening import open_case
from timelines.cases.way_back import link_back_to_draft
from timelines.runs.storage import NoteChanged


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def export(request: StudyRequest, public_id: str, format: str) -> HttpResponse:
    """Send one timeline (`t`) of a case as a file.

    `text=1` adds words of the note.
    """
    try:
        return case_file(request, public_id, format)
    except NoteChanged:
        return render(
            request,
            "timelines/cases/note_changed.html",
            {"encounter": open_case(request, public_id)},
            status=HTTPStatus.INTERNAL_SERVER_ERROR,
        )
