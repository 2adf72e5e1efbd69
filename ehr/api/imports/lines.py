"""Imports as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ehr.models import DatasetDeletion, ImportJob, Upload
from ehr.uploads.finding import find_good_check, find_latest_job, find_latest_jobs
from ehr.uploads.progress import describe_job

#: Values of a check that are its preview, not counts.
PREVIEW = ("first", "events", "unknown", "missing", "unread", "names")


def describe_data_job(job: ImportJob | DatasetDeletion) -> dict[str, Any]:
    """Return a job with its state in words."""
    return {"job": job, "line": describe_job(job)}


def describe_imports(uploads: Sequence[Upload]) -> list[dict[str, Any]]:
    """Return the lines of a list."""
    jobs = find_latest_jobs(uploads)
    return [_describe(upload, jobs.get(upload.pk)) for upload in uploads]


def describe_import(upload: Upload) -> dict[str, Any]:
    """Return one import with everything that its page shows."""
    job, check = find_latest_job(upload), find_good_check(upload)
    found = check.result if check else {}
    return {
        **_describe(upload, job),
        "preview": {name: found[name] for name in PREVIEW if name in found} if check else None,
        "faults": job.result.get("first_faults", []) if job else [],
    }


def _describe(upload: Upload, job: ImportJob | None) -> dict[str, Any]:
    if job is None:
        return {"upload": upload, "job": None}
    counts = {n: v for n, v in job.result.items() if isinstance(v, int)}
    return {"upload": upload, "job": {**describe_data_job(job), "counts": counts}}
