"""Write an export: part by part, then all parts as one archive.

A part is stored on the disk and in its row together, so a repeated export on any worker goes on
with the first part that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from accounts.models import Notification
from accounts.notifications.actions import notify
from ehr.models import Encounter
from jobs.errors import PermanentFailure, RequeueJob
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work
from timelines.exports.access import find_unseen_cases
from timelines.exports.files import Store, hash_file
from timelines.exports.formats import EXPORT_FORMATS
from timelines.exports.joining import join_parts, name_output
from timelines.exports.selecting import plan_parts, select_timelines
from timelines.exports.views import write_view
from timelines.models import Export, ExportPart
from timelines.registry import find_export_view
from timelines.transfer.writers import Options


class NothingToExport(PermanentFailure):
    """No case has such a timeline."""


@dataclass(frozen=True, slots=True)
class Written:
    """A finished archive, and what is stored of it."""

    archive: Path
    lines: int
    size: int
    sha256: str


def execute_export(export_id: int) -> JobState | None:
    """Write the export if it waits; return its new state.

    None if there was nothing to do (done, claimed, paused).
    """
    if not Export.objects.filter(pk=export_id, paused_at__isnull=True).exists():
        return None
    done: list[Written] = []

    def store(export: Export) -> None:
        (made,) = done
        Store(export.public_id).keep_archive(made.archive)
        Export.objects.filter(pk=export.pk).update(
            lines=made.lines, size=made.size, sha256=made.sha256
        )
        transaction.on_commit(Store(export.public_id).delete_parts)
        _notify(export)

    return work(
        Export, export_id, lambda export, hold: done.append(_write(export, hold)), then=store
    )


def _write(export: Export, hold: Hold) -> Written:
    parts = _plan(export, hold)
    for number, part in enumerate(parts, start=1):
        hold.check()
        if Export.objects.filter(pk=export.pk, paused_at__isnull=False).exists():
            raise RequeueJob("the export is paused")
        if part.written_at is None or not Store(export.public_id).part(part.number).is_dir():
            _write_part(export, part, hold)
        hold.report(done=number, total=len(parts), words=f"wrote {number} of {len(parts)} parts")
    return _join(export, hold)


def _plan(export: Export, hold: Hold) -> list[ExportPart]:
    """Return the parts, which the first attempt fixes."""
    if not export.parts.exists():
        planned = plan_parts(export)
        with write_guard(hold):
            ExportPart.objects.bulk_create(
                ExportPart(export=export, number=number, encounters=encounters)
                for number, encounters in enumerate(planned)
            )
    return list(export.parts.all())


def _write_part(export: Export, part: ExportPart, hold: Hold) -> None:
    store = Store(export.public_id)
    unseen = find_unseen_cases(export.created_by, export.study)
    found = Encounter.objects.select_related("dataset").in_bulk(
        [pk for pk in part.encounters if pk not in unseen]
    )
    cases = [found[pk] for pk in part.encounters if pk in found]
    place = store.new(str(part.number), hold.fence)
    out = place / name_output(export.format)
    options = Options(export.dataset.name, export.with_note_text, export.created_at)
    if export.view is not None:
        hold.check()
        lines = write_view(cases, export.view, export.format, out, options)
    else:
        lines = EXPORT_FORMATS[export.format].write(
            _check_each(cases, hold), select_timelines(export), out, options
        )
    with write_guard(hold):
        store.keep_part(part.number, place)
        ExportPart.objects.filter(pk=part.pk).update(
            encounters=[case.pk for case in cases], lines=lines, written_at=timezone.now()
        )


def _check_each(cases: list[Encounter], hold: Hold) -> Iterator[Encounter]:
    for case in cases:
        hold.check()
        yield case


def _join(export: Export, hold: Hold) -> Written:
    store = Store(export.public_id)
    parts = list(export.parts.all())
    lines = sum(part.lines or 0 for part in parts)
    if not lines:
        store.delete()
        raise NothingToExport(
            "no finished timeline matches. Launch a run or choose another one, then start a new"
            " export"
        )
    place = store.new("archive", hold.fence) / "export.zip"
    join_parts(
        [store.part(part.number) for part in parts],
        export.format,
        place,
        _facts(export, lines),
        hold.check,
    )
    return Written(place, lines, place.stat().st_size, hash_file(place, hold.check))


def _facts(export: Export, lines: int) -> dict[str, object]:
    view = export.view
    described = {} if view is None else {"description": find_export_view(view).describe(view)}
    return described | {
        "export": export.public_id,
        "dataset": export.dataset.name,
        "run": export.run.public_id if export.run else None,
        "format": export.format,
        "all_sources": export.all_sources,
        "with_note_text": export.with_note_text or EXPORT_FORMATS[export.format].has_note,
        "started_at": export.created_at.isoformat(timespec="seconds"),
        "lines": lines,
    }


def _notify(export: Export) -> None:
    notify(
        recipients=[export.created_by],
        study=export.study,
        kind=Notification.Kind.EXPORT_FINISHED,
        path=reverse("timelines:exports"),
        name=f"{export.dataset.name}: {EXPORT_FORMATS[export.format].label}",
        key=export.public_id,
    )
