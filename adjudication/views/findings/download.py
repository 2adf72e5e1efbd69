"""Files of a judge run's findings and games, and of their columns."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.judge_runs import find_judge_run
from adjudication.findings.files import findings_file, games_file


@require_GET
@study_role_required(*CASE_READERS)
def findings_download(request: StudyRequest, public_id: str, format: str) -> HttpResponseBase:
    """Return every finding that the person may see, as a file.

    `text=1` adds words of note, timelines, record and judge. "dictionary" returns the columns.
    """
    return findings_file(request, find_judge_run(request.user, public_id), format)


@require_GET
@study_role_required(*CASE_READERS)
def games_download(request: StudyRequest, public_id: str, format: str) -> HttpResponseBase:
    """Return every game that the person may see, as a file.

    With or without findings. "dictionary" returns the columns.
    """
    return games_file(request, find_judge_run(request.user, public_id), format)
