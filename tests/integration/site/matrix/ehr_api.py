"""Who may read datasets and records in the API."""

from __future__ import annotations

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


ROWS = [
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
