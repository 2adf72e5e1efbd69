"""Who may see a case, an occurrence of it and the chain behind its time."""

from __future__ import annotations

from tests import factories
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.world import TIMES, Row, World
from timelines.models import Occurrence


def _case(world: World) -> dict[str, str]:
    """A case whose page shows a timeline."""
    return {"public_id": _occurrence(world)["public_id"]}


def _occurrence(world: World) -> dict[str, str]:
    encounter = find_encounter(world)
    found = Occurrence.objects.filter(inventory__encounter=encounter).first()
    if found is None:
        inventory = factories.make_inventory(factories.make_note(encounter, "Fell at home."))
        found = factories.make_occurrence(inventory, "Fell")
        factories.make_timeline(inventory, {found: TIMES[0]}, source="matrix")
    return {"public_id": encounter.public_id, "uid4": found.uid4}


ROWS = [
    Row("timelines:case", CASE_PAGE, path=_case),
    Row("timelines:occurrence", CASE_PAGE, path=_occurrence),
    Row("timelines:case_lanes", CASE_PAGE, path=_case),
    Row("timelines:chain", CASE_PAGE, path=_occurrence),
]
