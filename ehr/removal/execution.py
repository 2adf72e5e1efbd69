"""What a worker does to delete a dataset."""

from __future__ import annotations

from functools import partial

from ehr.actions import record_deletion
from ehr.deletion import DeletionRefused, delete_in_batches
from ehr.ingest.lock import ImportBusy, lock_import
from ehr.models import DatasetDeletion, Upload
from ehr.registry import Loss
from ehr.uploads.actions import remove_files
from ehr.uploads.execution import WaitForImport
from jobs.errors import PermanentFailure
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work


def execute_deletion(job_id: int) -> JobState | None:
    """Delete the dataset if the job waits; return its new state."""
    return work(DatasetDeletion, job_id, _do, then=_record)


def _do(job: DatasetDeletion, hold: Hold) -> None:
    """Delete what is left, batch by batch. Raises PermanentFailure."""
    dataset = job.dataset
    _remove_uploads(job)
    if dataset is None:
        return

    def report(done: int, total: int, words: str) -> None:
        hold.check()
        with write_guard(hold):
            hold.row.update(
                deleted=max(job.total - total + done, 0),
                progress={"done": done, "total": total, "words": words},
            )

    try:
        with lock_import(dataset):
            delete_in_batches(
                dataset,
                delete_authored=job.delete_authored,
                guard=partial(write_guard, hold),
                progress=report,
            )
    except ImportBusy as error:
        raise WaitForImport(str(error)) from None
    except DeletionRefused as error:
        raise PermanentFailure(str(error)) from None


def _remove_uploads(job: DatasetDeletion) -> None:
    """Remove the files that the dataset was imported from."""
    sent = Upload.objects.filter(study=job.study, removed_at=None, server_folder="")
    for upload in sent.filter(jobs__name=job.name, jobs__kind="import").distinct():
        remove_files(upload=upload, by=job.created_by)


def _record(job: DatasetDeletion) -> None:
    losses = [Loss(count, name, name) for count, name in job.losses]
    record_deletion(study=job.study, public_id=job.dataset_key, by=job.created_by, losses=losses)
