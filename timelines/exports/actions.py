"""Start, pause and end exports.

Workers write them (`timelines.exports.writing`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.audit.trail import record, record_each
from accounts.models import User
from ehr.models import Dataset
from jobs import actions as jobs
from jobs.hints import send_hints
from jobs.models import JobState
from jobs.states import FINAL
from timelines.exports.access import list_case_ids
from timelines.exports.files import Store, list_stores
from timelines.exports.formats import EXPORT_FORMATS
from timelines.exports.views import VIEW_FORMATS, label_view
from timelines.models import Export, Run
from timelines.runs.study_timeline.selection import find_study_run


class ExportRefused(ValueError):
    """An export that cannot be started or changed.

    The message names no text of a case.
    """

    log_safe = True


@transaction.atomic
def start_export(
    *,
    dataset: Dataset,
    run: Run | None,
    format: str,
    with_note_text: bool,
    all_sources: bool = False,
    view: Mapping[str, Any] | None = None,
    by: User,
) -> Export:
    """Queue an export of a cohort, of one run over it, or of a view of it.

    Of a cohort it has the study timeline and references, or `all_sources`; all of them as well if
    the cohort has no study timeline. Raises ExportRefused for an unknown format or a run over another cohort.
    """
    if view is not None and format not in VIEW_FORMATS:
        raise ExportRefused(f"choose one of the formats {', '.join(VIEW_FORMATS)}")
    if format not in EXPORT_FORMATS:
        raise ExportRefused(f"there is no format {format!r}; choose {', '.join(EXPORT_FORMATS)}")
    if run is not None and run.dataset_id != dataset.pk:
        raise ExportRefused("the run is not over this cohort; choose its own cohort")
    export = Export.objects.create(
        study=dataset.study,
        dataset=dataset,
        run=run,
        format=format,
        with_note_text=with_note_text,
        all_sources=run is None
        and view is None
        and (all_sources or find_study_run(dataset.pk) is None),
        view=view,
        created_by=by,
    )
    _audit(export, "export.start", by)
    send_hints(Export, [export.pk])
    return export


@transaction.atomic
def pause_export(*, export: Export, by: User) -> None:
    """Let the export wait after the part that is being written."""
    waiting = Export.objects.filter(pk=export.pk, paused_at__isnull=True).exclude(state__in=FINAL)
    if waiting.update(paused_at=timezone.now()):
        _audit(export, "export.pause", by)


@transaction.atomic
def resume_export(*, export: Export, by: User) -> None:
    """Let a paused export go on."""
    if Export.objects.filter(pk=export.pk, paused_at__isnull=False).update(paused_at=None):
        _audit(export, "export.resume", by)
        send_hints(Export, [export.pk])


@transaction.atomic
def cancel_export(*, export: Export, by: User) -> None:
    """Cancel the export. Parts that are written stay until it expires.

    Raises InvalidTransition if it has ended.
    """
    jobs.cancel(job=export, by=by, study=export.study)
    Export.objects.filter(pk=export.pk).update(paused_at=None)


@transaction.atomic
def retry_export(*, export: Export, by: User) -> None:
    """Go on with a failed or cancelled export, from its first missing part.

    Raises InvalidTransition for any other.
    """
    jobs.retry(job=export, by=by, study=export.study)
    Export.objects.filter(pk=export.pk).update(deleted_at=None)
    send_hints(Export, [export.pk])


@transaction.atomic
def delete_export(*, export: Export, by: User) -> None:
    """Delete the files of an export that has ended.

    Raises ExportRefused before.
    """
    ended = Export.objects.filter(pk=export.pk, state__in=FINAL, deleted_at__isnull=True)
    if not ended.update(deleted_at=timezone.now()):
        raise ExportRefused("only an export that has ended and still has files can be deleted")
    _audit(export, "export.delete", by)
    transaction.on_commit(Store(export.public_id).delete)


#: What can be done with an export, by its name in addresses.
STEPS: dict[str, Callable[..., None]] = {
    "pause": pause_export,
    "resume": resume_export,
    "cancel": cancel_export,
    "retry": retry_export,
    "delete": delete_export,
}


@transaction.atomic
def record_download(*, export: Export, by: User) -> None:
    """Audit a download.

    The first one is an exposure to every case in the file.
    """
    _audit(export, "export.download", by)
    first = Export.objects.filter(pk=export.pk, downloaded_at__isnull=True)
    if first.update(downloaded_at=timezone.now()):
        record_each(
            actor=by,
            study=export.study,
            action="case.export",
            object_type="ehr.encounter",
            object_ids=list_case_ids(export),
            detail={"format": export.format, "export": export.public_id},
        )


def delete_expired_exports() -> int:
    """Delete the files of exports that ended EXPORT_DAYS ago.

    Files without a row are deleted, too. Returns how many exports expired. A dataset takes the rows of its exports with it.
    """
    before = timezone.now() - timedelta(days=settings.EXPORT_DAYS)
    expired = Export.objects.filter(
        state__in=FINAL, finished_at__lt=before, deleted_at__isnull=True
    )
    ids = list(expired.values_list("pk", "public_id"))
    for pk, public_id in ids:
        Store(public_id).delete()
        Export.objects.filter(pk=pk).update(deleted_at=timezone.now())
    for store in list_stores():
        if not Export.objects.filter(public_id=store.export).exists():
            store.delete()
    return len(ids)


def may_download(export: Export) -> bool:
    """Return whether the file is there."""
    return export.state == JobState.SUCCEEDED and export.deleted_at is None


def _audit(export: Export, action: str, by: User) -> None:
    record(
        actor=by,
        study=export.study,
        action=action,
        object_type="timelines.export",
        object_id=export.public_id,
        detail={
            "format": export.format,
            "dataset": export.dataset.public_id,
            "run": export.run.public_id if export.run else "",
            "view": label_view(export.view),
            "all_sources": export.all_sources,
            "with_note_text": export.with_note_text or EXPORT_FORMATS[export.format].has_note,
        },
    )
