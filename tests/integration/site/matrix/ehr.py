"""Who may see the structured record."""

from __future__ import annotations

from datetime import datetime

from ehr.models import Dataset, Encounter, EventSeries
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

ROWS = [
    Row("ehr:record", CASE_PAGE, path=_record),
    Row("ehr:record", CASE_PAGE, method="post", path=_record),
    Row("ehr:note", CASE_PAGE, path=_note),
    Row("ehr:series_rows", CASE_PAGE, path=_series),
    Row("ehr:untimed_rows", CASE_PAGE, path=_record),
]
