"""Who may see the structured record."""

from __future__ import annotations

from datetime import datetime

from ehr.models import Dataset, Encounter, EventSeries
from tests.integration.matrix.world import SIGN_IN, Row, World, answers


def encounter_of(world: World) -> Encounter:
    """A case of the world's study."""
    dataset, _ = Dataset.objects.get_or_create(study=world.study, name="matrix", defaults={"format": "cases"})
    found, _ = Encounter.objects.get_or_create(dataset=dataset, case_id="1", defaults={"admitted_at": datetime(2150, 1, 1)})
    return found


def _series(world: World) -> dict[str, str]:
    encounter = encounter_of(world)
    series, _ = EventSeries.objects.get_or_create(
        encounter=encounter, event="lab:lactate:blood", defaults={"summary": "s", "row_indices": [], "count": 0, "priority": 6}
    )
    return {"public_id": encounter.public_id, "series_id": str(series.pk)}


#: Members who may open cases see it; the other study's admin is told that nothing is there.
CASE_PAGE = answers(anonymous=SIGN_IN, clinician=200, reviewer=403, admin=200, outsider=404, nobody=403, superuser=403)

ROWS = [
    Row("ehr:record", CASE_PAGE, path=lambda world: {"public_id": encounter_of(world).public_id}),
    Row("ehr:record", CASE_PAGE, method="post", path=lambda world: {"public_id": encounter_of(world).public_id}),
    Row("ehr:series_rows", CASE_PAGE, path=_series),
    Row("ehr:untimed_rows", CASE_PAGE, path=lambda world: {"public_id": encounter_of(world).public_id}),
]
