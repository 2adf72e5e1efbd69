"""Every change to datasets.

`by=None` is the command line of the machine itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.urls import reverse

from accounts.audit.trail import record
from accounts.membership.members import find_members
from accounts.models import Notification, Role, Study, User
from accounts.notifications.actions import notify
from accounts.permissions import check_user_can_manage_study
from ehr.deletion import DeletionRefused, delete_whole_dataset
from ehr.formats.base import FormatError
from ehr.formats.cases import read_licence
from ehr.formats.csv.reader import PlainRows
from ehr.formats.fhir.reader import Fhir
from ehr.formats.limits import Limits
from ehr.formats.meds.reader import Meds
from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.omop.reader import Omop
from ehr.formats.stream import StreamSource
from ehr.formats.text import TextNotes
from ehr.ingest.cases import NOTHING, Progress, Replacing, import_cases
from ehr.ingest.streams import import_stream
from ehr.models import Dataset
from ehr.partitions import ensure_partition
from ehr.report import ImportReport

#: name → a source over a path; chosen cases or None for all.
Source = Callable[[Path, Collection[str] | None, Limits], StreamSource]
STREAMED: Mapping[str, Source] = {
    "csv": PlainRows,
    "mimic_iv": MimicIV,
    "meds": Meds,
    "omop": Omop,
    "text": TextNotes,
    "fhir": Fhir,
}
FORMATS = ("cases", *STREAMED)
#: Case ids that are safe as names of folders.
PLAIN_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)


class ImportBusy(RuntimeError):
    """Another process imports into the dataset."""

    log_safe = True


def import_dataset(
    *,
    path: Path,
    format: str,
    name: str,
    study: Study,
    by: User | None,
    cases: Collection[str] | None = None,
    pattern: str = "",
    replacing: Replacing = NOTHING,
    progress: Progress = lambda done, total, words: None,
) -> ImportReport:
    """Import `path` into the study's dataset of that name.

    A new name makes a new dataset. Call it again to continue after a kill. Each case (or block of a
    file) commits separately, so good cases stay although others are rejected. `cases`: only these
    case ids. `pattern`: that of the files' names, in the text format. Raises FormatError (the path
    is not in this format), ImportBusy, NotAllowed.
    """
    if by is not None:
        check_user_can_manage_study(by, study)
    if format not in FORMATS:
        raise FormatError(f"The format {format} is unknown. Known: {', '.join(FORMATS)}.")
    if pattern and format != "text":
        raise FormatError("Only the text format has a pattern of names.")
    open_source = partial(TextNotes, pattern=pattern) if pattern else STREAMED.get(format)
    dataset = _dataset(path, format, name, study)
    report, limits = ImportReport(), _limits()
    with _lock_import(dataset):
        ensure_partition(dataset.pk)
        if open_source:
            import_stream(
                dataset,
                open_source(path, cases, limits),
                report,
                by=by,
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
        _store_state(dataset, report, by)
    return report


def delete_dataset(*, dataset: Dataset, by: User | None, delete_authored: bool = False) -> None:
    """Delete the dataset with everything made from it; record the losses.

    Raises NotAllowed, and DeletionRefused for findings in review packets or, unless
    `delete_authored`, timelines that people wrote.
    """
    if by is not None:
        check_user_can_manage_study(by, dataset.study)
    event = partial(
        record,
        actor=by,
        study=dataset.study,
        object_type="ehr.dataset",
        object_id=dataset.public_id,
    )
    try:
        with transaction.atomic():
            losses = delete_whole_dataset(dataset, delete_authored=delete_authored)
            event(action="dataset.delete", detail={loss.name: loss.count for loss in losses})
    except DeletionRefused as error:
        event(
            action="dataset.delete_refused", detail={loss.name: loss.count for loss in error.losses}
        )
        raise


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


def _limits() -> Limits:
    return Limits(
        note_bytes=settings.IMPORT_NOTE_BYTES,
        case_rows=settings.IMPORT_CASE_ROWS,
        case_bytes=settings.IMPORT_CASE_BYTES,
        expansion=settings.IMPORT_EXPANSION,
    )


def _dataset(path: Path, format: str, name: str, study: Study) -> Dataset:
    """Return the dataset of that name, which is made if it is new.

    Raises FormatError for a bad name, or if the dataset has another format.
    """
    if not 1 <= len(name) <= 200 or not name.isprintable():
        raise FormatError("A dataset's name has 1 to 200 characters that can be shown.")
    dataset, _ = Dataset.objects.get_or_create(
        study=study, name=name, defaults={"format": format, "licence": read_licence(path)}
    )
    if dataset.format != format:
        raise FormatError(
            f"The dataset {name} was imported as {dataset.format}. Choose another name."
        )
    return dataset


@contextmanager
def _lock_import(dataset: Dataset) -> Iterator[None]:
    """Hold the dataset's import lock. Raises ImportBusy.

    The server releases the lock when this process dies.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtext('ehr.import'), %s)", [dataset.pk])
        if not cursor.fetchone()[0]:
            raise ImportBusy(
                f"The dataset {dataset.name} is being imported by another process. Wait for it to"
                " end."
            )
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(hashtext('ehr.import'), %s)", [dataset.pk])


@transaction.atomic
def _store_state(dataset: Dataset, report: ImportReport, by: User | None) -> None:
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
        notify(
            recipients=[by] if by is not None else find_members(dataset.study, Role.ADMIN),
            study=dataset.study,
            kind=Notification.Kind.IMPORT_FINISHED,
            path=reverse("home"),
            name=dataset.name,
            key=f"{dataset.public_id} {event.pk}",
        )
