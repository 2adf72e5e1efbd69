"""Bring files, check and import them; pause, resume, cancel and retry.

Each action is recorded. Pages, the API and tests call these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.ids import new_public_id
from accounts.models import Study, User
from accounts.permissions import check_user_can_manage_study
from ehr.actions import check_name
from ehr.formats.base import FormatError, is_storable
from ehr.formats.mapping import parse_mapping
from ehr.formats.recognition import recognise
from ehr.ingest.cases import NOTHING, Replacing
from ehr.ingest.sources import check_format
from ehr.models import DatasetDeletion, ImportJob, SavedMapping, Upload
from ehr.models.jobs import ACTIVE
from ehr.uploads import storage
from ehr.uploads.finding import record_upload
from ehr.uploads.folders import find_folder
from ehr.uploads.names import UploadRefused
from jobs import actions as jobs
from jobs.hints import send_hints

LONGEST_TITLE = 200
IN_PROGRESS = "A check or import of these files is in progress. Wait or cancel it."


def store_upload(
    *, study: Study, files: Sequence[tuple[str, Path]], title: str = "", by: User
) -> Upload:
    """Take files that were received, as (name, place on the disk).

    They are moved; one zip alone is unpacked. Raises NotAllowed, UploadRefused.
    """
    check_user_can_manage_study(by, study)
    if not files:
        raise UploadRefused("Choose files, a zip or a folder.")
    public_id = new_public_id()
    try:
        count, size = storage.place_files(public_id, files)
    except UploadRefused:
        record(actor=by, study=study, action="import.refuse", detail={"files": len(files)})
        raise
    try:
        return _create(
            study=study,
            by=by,
            public_id=public_id,
            title=title or _make_title([name for name, _ in files]),
            counted=(count, size),
        )
    except BaseException:
        storage.remove_upload(public_id)
        raise


def choose_folder(*, study: Study, key: str, by: User) -> Upload:
    """Take a folder of the server, which is read in place.

    Raises NotAllowed, UploadRefused.
    """
    check_user_can_manage_study(by, study)
    folder = find_folder(key)
    counted = storage.count_files(folder.path)
    return _create(
        study=study,
        by=by,
        public_id=new_public_id(),
        title=folder.key,
        server_folder=str(folder.path),
        counted=counted,
    )


def _make_title(names: Sequence[str]) -> str:
    """Return the name of the only file or of the folder of all files."""
    tops = {name.partition("/")[0] for name in names}
    return tops.pop() if len(tops) == 1 else f"{len(names)} files"


@transaction.atomic
def _create(*, study: Study, by: User, counted: tuple[int, int], **values: Any) -> Upload:
    upload = Upload(study=study, created_by=by, files=counted[0], bytes=counted[1], **values)
    upload.title = upload.title[:LONGEST_TITLE] if is_storable(upload.title) else "files"
    found = recognise(storage.find_files(upload))
    upload.format, upload.recognised = found.format, found.reason[:300]
    upload.save()
    record_upload(upload, "import.upload", by, files=counted[0], format=found.format)
    return upload


@transaction.atomic
def start_check(*, upload: Upload, format: str, mapping: Mapping[str, Any], by: User) -> ImportJob:
    """Queue a dry run: a preview and every fault, with nothing stored.

    Raises NotAllowed, FormatError, UploadRefused.
    """
    check_user_can_manage_study(by, upload.study)
    job = _start(upload, ImportJob.Kind.CHECK, format, mapping, by)
    record_upload(upload, "import.check", by, format=format)
    return job


@transaction.atomic
def start_import(
    *,
    upload: Upload,
    format: str,
    mapping: Mapping[str, Any],
    name: str,
    replacing: Replacing = NOTHING,
    by: User,
) -> ImportJob:
    """Queue the import into the study's dataset of that name.

    `replacing` says what may be deleted of cases whose files changed. Raises NotAllowed,
    FormatError, UploadRefused.
    """
    check_user_can_manage_study(by, upload.study)
    check_name(study=upload.study, name=name, format=format)
    going = DatasetDeletion.objects.filter(study=upload.study, name=name, state__in=ACTIVE)
    if going.exists():
        raise FormatError(f"The dataset {name} is being deleted. Choose another name.")
    values = {"replace": replacing.changed, "delete_authored": replacing.authored}
    job = _start(upload, ImportJob.Kind.IMPORT, format, mapping, by, name=name, **values)
    record_upload(upload, "import.start", by, format=format, job=job.public_id)
    return job


def _start(
    upload: Upload,
    kind: ImportJob.Kind,
    format: str,
    mapping: Mapping[str, Any],
    by: User,
    **values: Any,
) -> ImportJob:
    check_format(format)
    parsed = parse_mapping(format, mapping).as_values()
    if upload.removed_at is not None:
        raise UploadRefused("The files were removed. Bring them again.")
    Upload.objects.filter(pk=upload.pk).update(format=format, mapping=parsed)
    try:
        with transaction.atomic():
            job = ImportJob.objects.create(
                upload=upload, kind=kind, format=format, mapping=parsed, created_by=by, **values
            )
    except IntegrityError:
        raise UploadRefused(IN_PROGRESS) from None
    send_hints(ImportJob, [job.pk])
    return job


@transaction.atomic
def pause_import(*, job: ImportJob, by: User) -> None:
    """Let the job stop after its next commit, and wait until it is resumed."""
    check_user_can_manage_study(by, job.upload.study)
    active = ImportJob.objects.filter(pk=job.pk, paused_at=None, state__in=ACTIVE)
    if active.update(paused_at=timezone.now()):
        record_upload(job.upload, "import.pause", by, job=job.public_id)


@transaction.atomic
def resume_import(*, job: ImportJob, by: User) -> None:
    """Let a paused job go on from its last commit."""
    check_user_can_manage_study(by, job.upload.study)
    if ImportJob.objects.filter(pk=job.pk, paused_at__isnull=False).update(paused_at=None):
        send_hints(ImportJob, [job.pk])
        record_upload(job.upload, "import.resume", by, job=job.public_id)


@transaction.atomic
def cancel_import(*, job: ImportJob, by: User) -> None:
    """End the job; what it has stored stays.

    Raises InvalidTransition if it has ended.
    """
    check_user_can_manage_study(by, job.upload.study)
    jobs.cancel(job=job, by=by, study=job.upload.study)
    ImportJob.objects.filter(pk=job.pk).update(paused_at=None)


@transaction.atomic
def retry_import(*, job: ImportJob, by: User) -> None:
    """Go on with a failed or cancelled job from its last commit.

    Raises InvalidTransition, UploadRefused.
    """
    check_user_can_manage_study(by, job.upload.study)
    if job.upload.removed_at is not None:
        raise UploadRefused("The files were removed. Bring them again.")
    try:
        with transaction.atomic():
            jobs.retry(job=job, by=by, study=job.upload.study)
    except IntegrityError:
        raise UploadRefused(IN_PROGRESS) from None
    send_hints(ImportJob, [job.pk])


@transaction.atomic
def save_mapping(
    *, study: Study, name: str, format: str, mapping: Mapping[str, Any], by: User
) -> SavedMapping:
    """Store a mapping under a name for the study.

    An earlier one of the name is replaced. Raises NotAllowed, FormatError.
    """
    check_user_can_manage_study(by, study)
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise FormatError("The name of a mapping has 1 to 100 characters that can be shown.")
    values = parse_mapping(format, mapping).as_values()
    saved, _ = SavedMapping.objects.update_or_create(
        study=study, format=format, name=name, defaults={"values": values, "created_by": by}
    )
    detail = {"format": format}
    record(actor=by, study=study, action="import.save_mapping", detail=detail)
    return saved


def remove_files(*, upload: Upload, by: User | None) -> None:
    """Remove the files of an upload; imported data stays.

    A folder of the server is not touched. Raises NotAllowed, UploadRefused while a job runs.
    """
    if by is not None:
        check_user_can_manage_study(by, upload.study)
    with transaction.atomic():
        locked = Upload.objects.select_for_update().get(pk=upload.pk)
        if locked.jobs.filter(state__in=ACTIVE).exists():
            raise UploadRefused(IN_PROGRESS)
        if locked.removed_at is not None:
            return
        locked.removed_at = timezone.now()
        locked.save(update_fields=["removed_at"])
        # What was shown of the files goes with them; the counts of an import stay.
        for job in locked.jobs.only("kind", "result"):
            counts = {n: v for n, v in job.result.items() if isinstance(v, int)}
            locked.jobs.filter(pk=job.pk).update(
                result=counts if job.kind == ImportJob.Kind.IMPORT else {}
            )
        record_upload(upload, "import.remove_files", by)
    storage.remove_upload(upload.public_id)


#: What can be done with the latest job of an upload, by its name in addresses.
STEPS = {
    "pause": pause_import,
    "resume": resume_import,
    "cancel": cancel_import,
    "retry": retry_import,
}
