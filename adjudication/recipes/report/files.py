"""The written report of a launch as files, for pages and the API."""

from __future__ import annotations

import io
from collections.abc import Mapping

from django.http import FileResponse, Http404

from accounts.audit.trail import record
from accounts.models import User
from adjudication.models import RecipeLaunch, StudyReport
from jobs.models import JobState

#: Form → (field, type of the file).
FILES: Mapping[str, tuple[str, str]] = {
    "pdf": ("pdf", "application/pdf"),
    "zip": ("archive", "application/zip"),
}


def find_written(launch: RecipeLaunch, *, files: bool = False) -> StudyReport | None:
    """Return the newest written report, without its files unless asked for."""
    found = launch.reports.filter(state=JobState.SUCCEEDED)
    return (found if files else found.defer("pdf", "archive")).first()


def send_file(launch: RecipeLaunch, form: str, *, by: User) -> FileResponse:
    """Return the newest report as a file, and record it in the trail.

    Raises Http404 for an unknown form, and before the first report.
    """
    written = find_written(launch, files=True)
    if written is None or form not in FILES:
        raise Http404
    field, kind = FILES[form]
    record(
        actor=by,
        study=launch.study,
        action="recipe.export",
        object_type="adjudication.recipe",
        object_id=launch.public_id,
        detail={"format": form},
    )
    return FileResponse(
        io.BytesIO(getattr(written, field)),
        as_attachment=True,
        filename=f"study-{launch.public_id}.{form}",
        content_type=kind,
    )
