"""Who may answer to a case: corrections, comments and flags."""

from __future__ import annotations

from accounts.ids import PUBLIC_ID_LENGTH
from tests import factories
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.world import SIGN_IN, TIMES, Row, World, answers
from timelines.curation import comments, corrections
from timelines.curation.corrections import Corrected
from timelines.domain import TimelineKind
from timelines.models import Inventory, Occurrence, Timeline

#: The matrix sends forms, which these addresses refuse: they take JSON
#: (tests/integration/curation/test_pages.py has that side).
NOT_JSON = {**CASE_PAGE, "clinician": 415, "admin": 415}
#: Steps without a body: what a person did they may undo, and an admin all.
BACK = answers(
    anonymous=SIGN_IN, clinician=200, reviewer=403, admin=200, outsider=404, nobody=403, superuser=403
)  # fmt: skip


def _base(world: World) -> Timeline:
    """A sealed timeline of the case, over an occurrence of its own."""
    encounter = find_encounter(world)
    found = Timeline.objects.filter(encounter=encounter, source="answered").first()
    if found is None:
        note = encounter.notes.first() or factories.make_note(encounter, "Fell at home.")
        inventory = factories.make_inventory(note, origin=Inventory.Origin.IMPORT)
        fell = factories.make_occurrence(inventory, uid4="b0b0", span=(0, 4), mention="Fell")
        found = factories.make_timeline(
            inventory, {fell: TIMES[0]}, source="answered", kind=TimelineKind.REVISED
        )
        factories.seal(inventory)
    return found


def _occurrence(world: World) -> dict[str, str]:
    base = _base(world)
    return {"public_id": base.encounter.public_id, "uid4": "b0b0"}


def _case(world: World) -> dict[str, str]:
    return {"public_id": _base(world).encounter.public_id}


def _correction(world: World) -> dict[str, str]:
    base = _base(world)
    occurrence = Occurrence.objects.get(inventory=base.inventory)
    made = corrections.correct(
        base=base,
        occurrence=occurrence,
        what=Corrected(entered="+3", reason="seen"),
        by=world.people["clinician"],
    )
    return {"public_id": base.encounter.public_id, "correction": made.public_id}


def _comment(world: World) -> dict[str, str]:
    encounter = _base(world).encounter
    made = comments.comment(encounter=encounter, body="Look", by=world.people["clinician"])
    return {"public_id": encounter.public_id, "comment": made.public_id, "step": "resolve"}


def _flag(world: World) -> dict[str, str]:
    base = _base(world)
    made = comments.flag(
        encounter=base.encounter,
        occurrence=Occurrence.objects.get(inventory=base.inventory),
        reason="unclear",
        words="",
        by=world.people["clinician"],
    )
    return {"public_id": base.encounter.public_id, "flag": made.public_id}


def _linked(world: World) -> dict[str, str]:
    """An occurrence with the id of a link, which a form does not reach."""
    return {**_occurrence(world), "link": "z" * PUBLIC_ID_LENGTH}


def _corrected_page(world: World) -> dict[str, str]:
    return {"public_id": _correction(world)["public_id"]}


def _corrected(world: World) -> dict[str, str]:
    """The case by the name that the API has for it."""
    return {"case_id": _correction(world)["public_id"]}


def _no_link(world: World) -> dict[str, str]:
    """The case by the name that the API has for it, and the id of no link."""
    return {**_corrected(world), "link_id": "z" * PUBLIC_ID_LENGTH}


ROWS = [
    Row("timelines:case_answers", CASE_PAGE, path=_corrected_page),
    Row("timelines:correct_form", CASE_PAGE, path=_occurrence),
    Row("timelines:correct", NOT_JSON, method="post", path=_occurrence),
    Row("timelines:settle", NOT_JSON, method="post", path=_occurrence),
    Row("timelines:link", NOT_JSON, method="post", path=_occurrence),
    Row("timelines:link_undo", NOT_JSON, method="post", path=_linked),
    Row("timelines:comment", NOT_JSON, method="post", path=_occurrence),
    Row("timelines:flag", NOT_JSON, method="post", path=_occurrence),
    Row("timelines:answer_time", NOT_JSON, method="post", path=_case),
    Row("timelines:answer_rows", NOT_JSON, method="post", path=_case),
    Row("timelines:correction_undo", BACK, method="post", path=_correction),
    Row("timelines:comment_step", BACK, method="post", path=_comment),
    Row("timelines:flag_withdraw", BACK, method="post", path=_flag),
]
