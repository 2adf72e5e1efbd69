"""Who may see a case, an occurrence of it and the chain behind its time."""

from __future__ import annotations

from collections.abc import Callable

from tests import factories
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.world import TIMES, Row, World
from timelines.cases.exporting.formats import FORMATS
from timelines.models import Occurrence, Timeline


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


def _export(format: str) -> Callable[[World], dict[str, str]]:
    """A case and the format of a file of it."""
    return lambda world: {**_case(world), "format": format}


def _timeline(world: World) -> str:
    uid4 = _occurrence(world)["uid4"]
    found = Timeline.objects.filter(inventory__occurrences__uid4=uid4).first()
    assert found is not None
    return found.public_id


ROWS = [
    Row("timelines:case", CASE_PAGE, path=_case),
    Row("timelines:occurrence", CASE_PAGE, path=_occurrence),
    Row("timelines:case_lanes", CASE_PAGE, path=_case),
    Row("timelines:chain", CASE_PAGE, path=_occurrence),
    *(Row("timelines:case_export", CASE_PAGE, path=_export(format)) for format in FORMATS),
    Row(
        "timelines:pin",
        {**CASE_PAGE, "clinician": 302, "admin": 302},
        method="post",
        path=_occurrence,
        data=lambda world: {"t": _timeline(world), "pinned": "1"},
    ),
]
