"""The download of an export, for its page and the API."""

from __future__ import annotations

from django.http import FileResponse, Http404

from accounts.scoping import StudyRequest
from timelines.access.asking import ask_first
from timelines.exports.access import check_export_is_open, list_case_ids
from timelines.exports.actions import may_download, record_download
from timelines.exports.serving import send_archive
from timelines.models import Export


def send_export(request: StudyRequest, export: Export) -> FileResponse:
    """Send the file. Every case in it counts as seen by the person.

    Raises NotAllowed, AskFirst, Http404 if there is no file.
    """
    check_export_is_open(request.user, export)
    if not may_download(export):
        raise Http404
    ask_first(request.user, list_case_ids(export))
    try:
        response = send_archive(request, export)
    except FileNotFoundError:
        raise Http404 from None
    record_download(export=export, by=request.user)
    return response
