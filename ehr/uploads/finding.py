"""Find what was brought, for pages and the API: study admins alone."""

from __future__ import annotations

import json
from collections.abc import Iterable

from django.db.models import QuerySet
from django.http import FileResponse, Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import STUDY_ADMINS
from accounts.scoping import filter_by_role
from ehr.models import DatasetDeletion, ImportJob, SavedMapping, Upload
from ehr.uploads.names import UploadRefused
from ehr.uploads.reasons import stream_rejected
from ehr.uploads.storage import find_reasons


def find_uploads(person: User) -> QuerySet[Upload]:
    """Return the uploads of all studies that the person manages."""
    found = Upload.objects.select_related("study", "created_by")
    return filter_by_role(found, person, roles=STUDY_ADMINS)


def find_upload(person: User, public_id: str) -> Upload:
    """Return one of them. Raises Http404."""
    return get_object_or_404(find_uploads(person), public_id=public_id)


def find_mappings(person: User) -> QuerySet[SavedMapping]:
    """Return the saved mappings of all studies that the person manages."""
    found = SavedMapping.objects.select_related("study")
    return filter_by_role(found, person, roles=STUDY_ADMINS)


def find_deletions(person: User) -> QuerySet[DatasetDeletion]:
    """Return the deletions in all studies that the person manages."""
    found = DatasetDeletion.objects.select_related("study", "created_by")
    return filter_by_role(found, person, roles=STUDY_ADMINS)


def find_latest_job(upload: Upload) -> ImportJob | None:
    """Return the latest check or import of an upload."""
    return upload.jobs.select_related("dataset", "upload__study").order_by("-pk").first()


def find_latest_jobs(uploads: Iterable[Upload]) -> dict[int, ImportJob]:
    """Return the latest job of each upload that has one, by its key."""
    jobs = ImportJob.objects.filter(upload__in=[upload.pk for upload in uploads])
    latest = jobs.order_by("upload_id", "-pk").distinct("upload_id")
    found = latest.select_related("dataset", "upload__study")
    return {job.upload_id: job for job in found}


def find_good_check(upload: Upload) -> ImportJob | None:
    """Return the latest check that has ended well."""
    return upload.jobs.filter(kind=ImportJob.Kind.CHECK, state="succeeded").first()


def read_paths(text: str) -> list[str]:
    """Return the names with folders that a client sent.

    Raises UploadRefused.
    """
    try:
        found = json.loads(text) if text else []
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise UploadRefused("The names of the files cannot be read. Send them again.")
    return found


def send_reasons(upload: Upload, by: User) -> FileResponse | StreamingHttpResponse:
    """Return the reasons of the latest job as a CSV. Raises Http404."""
    job = find_latest_job(upload)
    if job is None:
        raise Http404
    record_upload(upload, "import.reasons", by)
    name = f"reasons-{job.public_id}.csv"
    if job.kind == ImportJob.Kind.IMPORT and job.dataset is not None:
        response = StreamingHttpResponse(stream_rejected(job.dataset), content_type="text/csv")
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response
    path = find_reasons(job)
    if not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="text/csv")


def record_upload(upload: Upload, action: str, by: User | None, **detail: str | int) -> None:
    """Record a step with what was brought, or that it was read."""
    record(
        actor=by,
        study=upload.study,
        action=action,
        object_type="ehr.upload",
        object_id=upload.public_id,
        detail=detail,
    )
