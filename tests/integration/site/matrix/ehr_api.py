"""Who may read datasets and records in the API."""

from __future__ import annotations

from collections.abc import Callable

from ehr.models import SavedMapping
from tests.integration.site.matrix import ehr
from tests.integration.site.matrix.world import Answer, Row, World, answers


def expect_readers(answer: Answer, outsider: Answer = 404) -> dict[str, Answer]:
    """Return answers for what readers of the study's cases may see.

    People who read cases in another study get 404.
    """
    return dict(
        answers(
            anonymous=401,
            clinician=answer,
            reviewer=403,
            admin=answer,
            outsider=outsider,
            nobody=403,
            superuser=403,
        )
    )


def _case(world: World) -> dict[str, str]:
    return {"case_id": ehr._record(world)["public_id"]}


def expect_admins(answer: Answer, outsider: Answer = 404) -> dict[str, Answer]:
    """Return answers for what study admins alone may see."""
    return {**expect_readers(answer, outsider), "clinician": 403}


def _import(world: World) -> dict[str, str]:
    return {"import_id": ehr._upload(world)["public_id"]}


def _mapping(world: World) -> dict[str, str]:
    found, _ = SavedMapping.objects.get_or_create(
        study=world.study, format="text", name="ours", values={"pattern": "{case}"}
    )
    return {"mapping_id": str(found.pk)}


def _acting(action: str) -> Callable[[World], dict[str, str]]:
    return lambda world: {**_import(world), "action": action}


def _dataset(world: World) -> dict[str, str]:
    return {"dataset_id": ehr._dataset(world)["public_id"]}


def _deleting(action: str) -> Callable[[World], dict[str, str]]:
    """A dataset whose deletion has failed."""

    def find(world: World) -> dict[str, str]:
        ehr._deletion(world)
        return {**_dataset(world), "action": action}

    return find


IMPORTS = [
    Row("ehr_api:imports", expect_admins(200, 200)),
    # Without files it is refused with a sentence.
    Row("ehr_api:imports", expect_admins(422, 422), method="post"),
    Row("ehr_api:mappings", expect_admins(200, 200)),
    Row("ehr_api:mappings", expect_admins(415, 415), method="post"),
    Row("ehr_api:mapping", expect_admins(200), path=_mapping),
    Row("ehr_api:import", expect_admins(200), path=_import),
    Row("ehr_api:import_check", expect_admins(415), method="post", path=_import),
    Row("ehr_api:import_start", expect_admins(415), method="post", path=_import),
    # The failed check of files that are not there has no file of reasons.
    Row("ehr_api:import_faults", expect_admins(404), path=_import),
    *(
        Row("ehr_api:import_action", expect_admins(answer), method="post", path=_acting(action))
        for action, answer in (
            ("pause", 200),
            ("resume", 200),
            ("cancel", 409),
            ("retry", 200),
            ("remove", 200),
            ("other", 404),
        )
    ),
    Row("ehr_api:deletion", expect_admins(200), path=_dataset),
    Row("ehr_api:deletion", expect_admins(415), method="post", path=_dataset),
    *(
        Row("ehr_api:deletion_action", expect_admins(answer), method="post", path=_deleting(action))
        for action, answer in (("cancel", 409), ("retry", 200), ("other", 404))
    ),
]
ROWS = [
    *IMPORTS,
    Row("ehr_api:datasets", expect_readers(200, 200)),
    Row(
        "ehr_api:dataset",
        expect_readers(200),
        path=lambda world: {"dataset_id": ehr.find_encounter(world).dataset.public_id},
    ),
    Row("ehr_api:case", expect_readers(200), path=_case),
    Row("ehr_api:notes", expect_readers(200), path=_case),
    Row(
        "ehr_api:note",
        expect_readers(200),
        path=lambda world: {"case_id": ehr._note(world)["public_id"], "number": "1"},
    ),
    Row("ehr_api:note", expect_readers(404), path=lambda world: {**_case(world), "number": "9"}),
    Row("ehr_api:series", expect_readers(200), path=_case),
    Row("ehr_api:rows", expect_readers(200), path=_case),
]
