"""Delete a dataset with everything made from it, as a job.

`ehr.actions.delete_dataset` does the same at once, for the command line.
"""

from __future__ import annotations

from django.db import IntegrityError, transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import NotAllowed, check_user_can_manage_study
from accounts.registry import all_closed_objects
from ehr.actions import check_dataset_deletion
from ehr.deletion import DeletionRefused
from ehr.models import Dataset, DatasetDeletion, ImportJob
from ehr.models.jobs import ACTIVE
from jobs import actions as jobs
from jobs.hints import send_hints

CLOSED = (
    "Cases of this dataset are closed to you while you review them or write unaided timelines. Ask"
    " another study admin."
)


def check_user_can_delete(user: User, dataset: Dataset) -> None:
    """Raise NotAllowed unless an admin asks to whom all cases are open.

    The losses of closed cases would show what there is of them.
    """
    check_user_can_manage_study(user, dataset.study)
    closed = all_closed_objects(user)
    if closed and dataset.encounters.filter(public_id__in=list(closed)).exists():
        raise NotAllowed(CLOSED)


def start_deletion(
    *, dataset: Dataset, confirmed: str, delete_authored: bool = False, by: User
) -> DatasetDeletion:
    """Queue the deletion. `confirmed` is the dataset's name, as typed.

    Raises NotAllowed, DeletionRefused.
    """
    check_user_can_delete(by, dataset)
    if confirmed != dataset.name:
        raise DeletionRefused("The typed name is not the name of the dataset. Nothing was deleted.")
    importing = ImportJob.objects.filter(upload__study=dataset.study, name=dataset.name)
    if importing.filter(state__in=ACTIVE).exists():
        raise DeletionRefused("An import into this dataset is in progress. Cancel it first.")
    losses = check_dataset_deletion(dataset=dataset, by=by, delete_authored=delete_authored)
    with transaction.atomic():
        try:
            with transaction.atomic():
                job = DatasetDeletion.objects.create(
                    study=dataset.study,
                    dataset=dataset,
                    name=dataset.name,
                    dataset_key=dataset.public_id,
                    delete_authored=delete_authored,
                    losses=[[loss.count, loss.name] for loss in losses],
                    total=dataset.encounters.count(),
                    created_by=by,
                )
        except IntegrityError:
            raise DeletionRefused("The dataset is being deleted already.") from None
        record(
            actor=by,
            study=dataset.study,
            action="dataset.delete_start",
            object_type="ehr.dataset",
            object_id=dataset.public_id,
            detail={loss.name: loss.count for loss in losses},
        )
        send_hints(DatasetDeletion, [job.pk])
    return job


@transaction.atomic
def cancel_deletion(*, job: DatasetDeletion, by: User) -> None:
    """Stop after the current batch; stays that are deleted do not come back.

    Raises NotAllowed, InvalidTransition.
    """
    check_user_can_manage_study(by, job.study)
    jobs.cancel(job=job, by=by, study=job.study)


@transaction.atomic
def retry_deletion(*, job: DatasetDeletion, by: User) -> None:
    """Go on with a failed or cancelled deletion.

    Raises NotAllowed, InvalidTransition.
    """
    check_user_can_manage_study(by, job.study)
    jobs.retry(job=job, by=by, study=job.study)
    send_hints(DatasetDeletion, [job.pk])


STEPS = {"cancel": cancel_deletion, "retry": retry_deletion}
