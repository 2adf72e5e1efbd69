"""What a worker does with a check or an import."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ehr.actions import import_dataset, notify_finished
from ehr.formats.base import FormatError
from ehr.formats.mapping import parse_mapping
from ehr.formats.recognition import find_root
from ehr.ingest.cases import Replacing
from ehr.ingest.lock import ImportBusy
from ehr.ingest.sources import configured_limits
from ehr.models import Dataset, ImportJob
from ehr.report import ImportReport
from ehr.uploads.checking import check_files
from ehr.uploads.folders import is_allowed
from ehr.uploads.links import upload_page
from ehr.uploads.reasons import ReasonFile, list_rejected
from ehr.uploads.storage import find_files, find_reasons
from jobs.actions import wake
from jobs.errors import PermanentFailure, RequeueJob
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work

#: How often the job's row is written and read while it runs.
LOOK_SECONDS = 1.0


class Paused(RequeueJob):
    """Someone paused the job; it goes on from its last commit."""


class WaitForImport(Exception):
    """Another process imports into the dataset. Waiting uses up no attempt."""

    log_safe = True
    outage = True


def execute_import(job_id: int) -> JobState | None:
    """Check or import if the job waits; return its new state.

    None if there was nothing to do, or if it is paused.
    """
    if not ImportJob.objects.filter(pk=job_id, paused_at__isnull=True).exists():
        return None
    return work(ImportJob, job_id, _do, then=_wake_others)


class Watch:
    """Reports progress; ends the work if it was paused or cancelled."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._looked = 0.0

    def __call__(self, done: int, total: int, words: str) -> None:
        """Report at most once a second. Raises what ends the work."""
        self._hold.check()
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        if ImportJob.objects.filter(pk=self._hold.job_id, paused_at__isnull=False).exists():
            raise Paused("paused on request")
        self._hold.report(done=done, total=total, words=words)


def _do(job: ImportJob, hold: Hold) -> None:
    """Check or import the files. Raises PermanentFailure, WaitForImport."""
    folder = find_files(job.upload)
    if job.upload.removed_at is not None or not folder.is_dir():
        raise PermanentFailure("The files are not there any more. Bring them again.")
    if job.upload.server_folder and not is_allowed(folder):
        raise PermanentFailure("The operator does not allow this folder any more.")
    try:
        act = _check if job.kind == ImportJob.Kind.CHECK else _import
        result = act(job, find_root(folder, job.format), Watch(hold))
    except FormatError as error:
        raise PermanentFailure(_hide_paths(str(error), folder)) from None
    except ImportBusy as error:
        raise WaitForImport(str(error)) from None
    with write_guard(hold):
        dataset = _find_dataset(job)
        hold.row.update(result=result, dataset=dataset)
        if job.kind == ImportJob.Kind.IMPORT and dataset is not None:
            notify_finished(dataset, job.created_by, upload_page(job.upload), job.public_id)


def _check(job: ImportJob, root: Path, watch: Watch) -> dict[str, Any]:
    mapping = parse_mapping(job.format, job.mapping)
    with ReasonFile(find_reasons(job)) as reasons:
        return check_files(root, job.format, mapping, configured_limits(), reasons, watch)


def _import(job: ImportJob, root: Path, watch: Watch) -> dict[str, Any]:
    if job.created_by is None:
        raise PermanentFailure("Nobody is known to have started this import.")
    study = job.upload.study
    report = import_dataset(
        path=root,
        format=job.format,
        name=job.name,
        study=study,
        by=job.created_by,
        mapping=parse_mapping(job.format, job.mapping),
        replacing=Replacing(changed=job.replace, authored=job.delete_authored),
        progress=watch,
        notifying=False,
    )
    return describe_report(report, Dataset.objects.get(study=study, name=job.name))


def describe_report(report: ImportReport, dataset: Dataset) -> dict[str, Any]:
    """Return the counts of an import as plain values."""
    return {
        "imported": report.imported,
        "unchanged": report.unchanged,
        "refused": report.refused,
        "rows": report.rows,
        "series": report.series,
        "left_out": report.left_out,
        "missing": report.missing_files[:50],
        "unread": report.unread_files[:50],
        "faults": dataset.rejected.count(),
        "first_faults": list_rejected(dataset),
    }


def _find_dataset(job: ImportJob) -> Dataset | None:
    return Dataset.objects.filter(study=job.upload.study, name=job.name).first()


def _wake_others(job: ImportJob) -> None:
    """Let imports go on that waited for this one."""
    wake(jobs=ImportJob.objects.filter(name=job.name, upload__study=job.upload.study_id))


def _hide_paths(sentence: str, folder: Path) -> str:
    """Return the sentence without the place of the files on the machine."""
    return sentence.replace(f"{folder}/", "").replace(str(folder), "The folder")
