"""Access to exports: only the admin who started one downloads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.utils import timezone

from jobs.models import JobState
from tests.integration.site.matrix.ehr import find_encounter
from tests.integration.site.matrix.world import SIGN_IN, Answer, Row, World, answers
from timelines.exports.files import Store
from timelines.models import Export, ExportPart


def _expect(admin: Answer, outsider: Answer) -> Mapping[str, Answer]:
    return answers(
        anonymous=SIGN_IN,
        clinician=403,
        reviewer=403,
        admin=admin,
        outsider=outsider,
        nobody=403,
        superuser=403,
    )


def _export(world: World, state: str = JobState.SUCCEEDED) -> Export:
    """Return an export by the admin; a finished one has its file."""
    found = Export.objects.filter(study=world.study, state=state).first()
    if found is None:
        encounter = find_encounter(world)
        found = Export.objects.create(
            study=world.study,
            dataset=encounter.dataset,
            format="csv",
            state=state,
            created_by=world.people["admin"],
            finished_at=timezone.now() if state == JobState.SUCCEEDED else None,
        )
        ExportPart.objects.create(
            export=found, number=0, encounters=[encounter.pk], written_at=timezone.now()
        )
    store = Store(found.public_id)
    store.folder.mkdir(exist_ok=True)
    store.archive.write_bytes(b"PK")
    return found


def _path(world: World) -> dict[str, str]:
    return {"public_id": _export(world).public_id}


def _acting(action: str, state: JobState) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {"public_id": _export(world, state).public_id, "action": action}


def _start(world: World) -> dict[str, str]:
    return {"dataset": find_encounter(world).dataset.public_id, "format": "csv"}


ROWS = [
    Row("timelines:exports", _expect(200, 200)),
    Row("timelines:export_new", _expect(200, 200)),
    # The outsider's form knows no cohort of this study.
    Row("timelines:export_new", _expect(302, 200), method="post", data=_start),
    Row("timelines:export_download", _expect(200, 404), path=_path),
    *(
        Row(
            "timelines:export_action",
            _expect(302, 404),
            method="post",
            path=_acting(action, state),
        )
        for action, state in (
            ("pause", JobState.QUEUED),
            ("resume", JobState.QUEUED),
            ("cancel", JobState.QUEUED),
            ("retry", JobState.FAILED),
            ("delete", JobState.SUCCEEDED),
        )
    ),
]
