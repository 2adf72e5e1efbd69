"""Who may see the structured record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ehr.models import Dataset, DatasetDeletion, Encounter, EventSeries, ImportJob, Upload
from jobs.models import JobState
from tests import factories
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers


def find_encounter(world: World) -> Encounter:
    """A case of the world's study."""
    dataset, _ = Dataset.objects.get_or_create(
        study=world.study, name="matrix", defaults={"format": "cases"}
    )
    found, _ = Encounter.objects.get_or_create(
        dataset=dataset, case_id="1", defaults={"admitted_at": datetime(2150, 1, 1)}
    )
    return found


def _record(world: World) -> dict[str, str]:
    """A series with one row, and a row without a time."""
    encounter = find_encounter(world)
    if not encounter.series.exists():
        row = factories.make_row(encounter, "lab:lactate:blood", 2.0, value="271.83", unit="mmol/L")
        factories.make_series(encounter, "lab:lactate:blood", [row], summary="lactate once, 271.83")
        factories.make_row(encounter, "diagnosis:icd:", None, value="R57.2")
    return {"public_id": encounter.public_id}


def _series(world: World) -> dict[str, str]:
    return {
        **_record(world),
        "series_id": str(EventSeries.objects.get(encounter=find_encounter(world)).pk),
    }


def _note(world: World) -> dict[str, str]:
    """The first of a stay's notes."""
    encounter = find_encounter(world)
    if not encounter.notes.exists():
        factories.make_note(encounter, "Lactate 271.83.")
    return {"public_id": encounter.public_id, "place": "1"}


#: Members who may open cases see it; the other study's admin gets a 404.
CASE_PAGE = answers(
    anonymous=SIGN_IN,
    clinician=200,
    reviewer=403,
    admin=200,
    outsider=404,
    nobody=403,
    superuser=403,
)

#: Imports and datasets: study admins alone.
ADMINS = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=200,
    outsider=404,
    nobody=403,
    superuser=403,
)
#: The active study's own: another study's admin sees theirs.
ADMINS_LIST = {**ADMINS, "outsider": 200, "two_studies": 200}
ADMINS_STEER = {**ADMINS, "admin": 302}


def _upload(world: World) -> dict[str, str]:
    """Files whose check has failed, and which are not there."""
    found = Upload.objects.filter(study=world.study).first()
    if found is None:
        admin = world.people["admin"]
        values = {"title": "matrix", "format": "text", "created_by": admin}
        found = Upload.objects.create(study=world.study, **values)
        state = {"state": JobState.FAILED, "reasons": ["made up"], "created_by": admin}
        ImportJob.objects.create(upload=found, kind="check", format="text", **state)
    return {"public_id": found.public_id}


def _dataset(world: World) -> dict[str, str]:
    return {"public_id": find_encounter(world).dataset.public_id}


def _deletion(world: World) -> dict[str, str]:
    """A deletion that has failed."""
    found = DatasetDeletion.objects.filter(study=world.study).first()
    if found is None:
        dataset = find_encounter(world).dataset
        found = DatasetDeletion.objects.create(
            study=world.study,
            dataset=dataset,
            name=dataset.name,
            dataset_key=dataset.public_id,
            state=JobState.FAILED,
            created_by=world.people["admin"],
        )
    return {"public_id": found.public_id}


def _acting(
    find: Callable[[World], dict[str, str]], action: str
) -> Callable[[World], dict[str, str]]:
    """The arguments of the address that does this to an object."""
    return lambda world: {**find(world), "action": action}


IMPORTS = [
    Row("ehr:imports", ADMINS_LIST),
    Row("ehr:import_new", ADMINS_LIST),
    # Without files the form comes back with a sentence.
    Row("ehr:import_new", ADMINS_LIST, method="post"),
    Row("ehr:upload", ADMINS, path=_upload),
    Row("ehr:upload_settings", ADMINS, method="post", path=_upload),
    Row(
        "ehr:upload_settings",
        ADMINS_STEER,
        method="post",
        path=_upload,
        data=lambda world: {"format": "fhir"},
    ),
    # The failed check of files that are not there has no file of reasons.
    Row("ehr:upload_reasons", {**ADMINS, "admin": 404}, path=_upload),
    *(
        Row(
            "ehr:upload_action",
            ADMINS_STEER,
            method="post",
            path=_acting(_upload, action),
        )
        for action in ("pause", "resume", "cancel", "retry", "remove")
    ),
    Row("ehr:dataset_delete", ADMINS, path=_dataset),
    # A name that is not the dataset's deletes nothing.
    Row(
        "ehr:dataset_delete",
        ADMINS,
        method="post",
        path=_dataset,
        data=lambda world: {"confirmed": "other"},
    ),
    Row(
        "ehr:dataset_delete",
        ADMINS_STEER,
        method="post",
        path=_dataset,
        data=lambda world: {"confirmed": "matrix"},
    ),
    Row("ehr:deletion", ADMINS, path=_deletion),
    *(
        Row(
            "ehr:deletion_action",
            ADMINS_STEER,
            method="post",
            path=_acting(_deletion, action),
        )
        for action in ("cancel", "retry")
    ),
]

ROWS = [
    *IMPORTS,
    Row("ehr:record", CASE_PAGE, path=_record),
    Row("ehr:record", CASE_PAGE, method="post", path=_record),
    Row("ehr:note", CASE_PAGE, path=_note),
    Row("ehr:series_rows", CASE_PAGE, path=_series),
    Row("ehr:untimed_rows", CASE_PAGE, path=_record),
]
