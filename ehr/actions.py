"""Every change to datasets.

`by=None` is the command line of the machine itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from django.db import transaction
from django.urls import reverse

from accounts.audit.trail import record
from accounts.membership.members import find_members
from accounts.models import Notification, Role, Study, User
from accounts.notifications.actions import notify
from accounts.permissions import check_user_can_manage_study
from ehr.deletion import DeletionRefused, check_deletion, delete_in_batches
from ehr.formats.base import FormatError
from ehr.formats.cases import read_licence
from ehr.formats.mapping import NO_MAPPING, ImportMapping, check_mapping
from ehr.ingest.cases import NOTHING, Progress, Replacing, import_cases
from ehr.ingest.lock import lock_import
from ehr.ingest.sources import STREAMED, check_format, configured_limits
from ehr.ingest.streams import import_stream
from ehr.models import Dataset
from ehr.partitions import ensure_partition
from ehr.registry import Loss, call_import_end_hooks
from ehr.report import ImportReport

#: Case ids that are safe as names of folders.
PLAIN_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)


def import_dataset(
    *,
    path: Path,
    format: str,
    name: str,
    study: Study,
    by: User | None,
    cases: Collection[str] | None = None,
    mapping: ImportMapping = NO_MAPPING,
    replacing: Replacing = NOTHING,
    progress: Progress = lambda done, total, words: None,
    notifying: bool = True,
) -> ImportReport:
    """Import `path` into the study's dataset of that name.

    A new name makes a new dataset. Call it again to continue after a kill. Each case (or block of a
    file) commits separately, so good cases stay although others are rejected. `cases`: only these
    case ids. `notifying`: notify people if something changed; a job does that when it ends. An
    exception of `progress` ends the import between two commits. Raises FormatError (the path is not
    in this format), ImportBusy, NotAllowed.
    """
    if by is not None:
        check_user_can_manage_study(by, study)
    check_format(format)
    check_mapping(format, mapping)
    check_name(study=study, name=name, format=format)
    dataset, _ = Dataset.objects.get_or_create(
        study=study, name=name, defaults={"format": format, "licence": read_licence(path)}
    )
    # Another import may have made it meanwhile.
    check_name(study=study, name=name, format=format)
    report, limits = ImportReport(), configured_limits()
    with lock_import(dataset):
        ensure_partition(dataset.pk)
        if format in STREAMED:
            source = STREAMED[format](path, cases, limits, mapping)
            import_stream(
                dataset,
                source,
                report,
                by=by,
                replacing=replacing,
                limits=limits,
                progress=progress,
            )
        else:
            import_cases(
                dataset,
                path,
                report,
                by=by,
                chosen=cases,
                replacing=replacing,
                limits=limits,
                progress=progress,
            )
        _store_state(dataset, report, by, notifying)
    call_import_end_hooks(dataset)
    return report


def check_name(*, study: Study, name: str, format: str) -> None:
    """Raise FormatError for a bad name, or a dataset of another format."""
    if not 1 <= len(name) <= 200 or not name.isprintable():
        raise FormatError("A dataset's name has 1 to 200 characters that can be shown.")
    there = Dataset.objects.filter(study=study, name=name).exclude(format=format).first()
    if there is not None:
        raise FormatError(
            f"The dataset {name} was imported as {there.format}. Choose another name."
        )


def delete_dataset(
    *,
    dataset: Dataset,
    by: User | None,
    delete_authored: bool = False,
    progress: Progress = lambda done, total, words: None,
) -> None:
    """Delete the dataset with everything made from it; record the losses.

    It works in batches: call it again to continue after a kill. Raises NotAllowed, ImportBusy, and
    DeletionRefused for findings in review packets or, unless `delete_authored`, timelines that
    people wrote.
    """
    losses = check_dataset_deletion(dataset=dataset, by=by, delete_authored=delete_authored)
    study, public_id = dataset.study, dataset.public_id
    with lock_import(dataset):
        delete_in_batches(dataset, delete_authored=delete_authored, progress=progress)
    record_deletion(study=study, public_id=public_id, by=by, losses=losses)


def check_dataset_deletion(
    *, dataset: Dataset, by: User | None, delete_authored: bool
) -> tuple[Loss, ...]:
    """Return what deleting the dataset would lose.

    Raises NotAllowed and DeletionRefused, of which the trail gets an event.
    """
    if by is not None:
        check_user_can_manage_study(by, dataset.study)
    try:
        return check_deletion(dataset, delete_authored=delete_authored)
    except DeletionRefused as error:
        _record_dataset(
            dataset.study, dataset.public_id, "dataset.delete_refused", by, error.losses
        )
        raise


def record_deletion(
    *, study: Study, public_id: str, by: User | None, losses: Collection[Loss]
) -> None:
    """Record that a dataset was deleted, with what was lost."""
    _record_dataset(study, public_id, "dataset.delete", by, losses)


def _record_dataset(
    study: Study, public_id: str, action: str, by: User | None, losses: Collection[Loss]
) -> None:
    detail = {loss.name: loss.count for loss in losses}
    kind = "ehr.dataset"
    record(
        actor=by, study=study, action=action, object_type=kind, object_id=public_id, detail=detail
    )


def export_summaries(
    *, dataset: Dataset, by: User | None
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (folder name, row map) of each case of the dataset.

    An audit event records who exported them. Raises NotAllowed. A row map lists event, summary and
    row indices of each series. A case id that is no plain file name becomes its public id.
    """
    if by is not None:
        check_user_can_manage_study(by, dataset.study)
    record(
        actor=by,
        study=dataset.study,
        action="dataset.export",
        object_type="ehr.dataset",
        object_id=dataset.public_id,
    )
    for encounter in dataset.encounters.all():
        name = encounter.case_id if PLAIN_NAME.fullmatch(encounter.case_id) else encounter.public_id
        series = encounter.series.order_by("event").values("event", "summary", "row_indices")
        yield name, [dict(entry) for entry in series]


@transaction.atomic
def _store_state(dataset: Dataset, report: ImportReport, by: User | None, notifying: bool) -> None:
    """Store the dataset's state after the run.

    An audit event is recorded if the run changed something.
    """
    state = Dataset.State.READY if report.clean else Dataset.State.INCOMPLETE
    changed = report.imported or dataset.state != state
    Dataset.objects.filter(pk=dataset.pk).update(state=state)
    if changed:
        detail = {
            "format": dataset.format,
            "cases": report.imported,
            "rows": report.rows,
            "rejected": report.rejected,
            "left_out": report.left_out,
        }
        event = record(
            actor=by,
            study=dataset.study,
            action="dataset.import",
            object_type="ehr.dataset",
            object_id=dataset.public_id,
            detail=detail,
        )
        if notifying:
            notify_finished(dataset, by, reverse("home"), f"{dataset.public_id} {event.pk}")


def notify_finished(dataset: Dataset, by: User | None, path: str, key: str) -> None:
    """Notify who started an import, else the admins, that it has ended.

    `key` names the import; the same one is notified once.
    """
    notify(
        recipients=[by] if by is not None else find_members(dataset.study, Role.ADMIN),
        study=dataset.study,
        kind=Notification.Kind.IMPORT_FINISHED,
        path=path,
        name=dataset.name,
        key=key,
    )
