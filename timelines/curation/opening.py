"""Find the occurrence and the base timeline that a person answers to."""

from __future__ import annotations

from collections.abc import Mapping

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import NotAllowed, check_user_can_open
from ehr.models import Encounter
from timelines.access.authoring import check_user_may_see_timelines, is_writing_unseen
from timelines.models import Timeline

WRITING = (
    "You are writing a timeline of this case. Corrections, comments and flags of this case open when"
    " every author has submitted."
)


def check_user_may_answer(user: User, encounter: Encounter) -> None:
    """Check that the person may read and write answers to a case.

    Those who must not see its timelines must not; nor must an author before every author has
    submitted. Raises NotAllowed.
    """
    check_user_can_open(user, encounter.dataset.study, "ehr.encounter", encounter.public_id)
    check_user_may_see_timelines(user, encounter)
    if is_writing_unseen(user, encounter):
        raise NotAllowed(WRITING)


def lock_case(encounter: Encounter, by: User) -> None:
    """Lock the case, and check that the person may answer.

    Answers are stored one after the other, and no timeline begins meanwhile. Raises NotAllowed.
    """
    Encounter.objects.select_for_update(no_key=True).get(pk=encounter.pk)
    check_user_may_answer(by, encounter)


def find_base(timeline: Timeline) -> Timeline:
    """Return the timeline that is corrected when this one is shown.

    It is the base of a curated one, else the primary revised timeline of the same run or source.
    """
    base = Timeline.objects.filter(curations__timeline=timeline).first()
    if base is not None:
        return base
    same = Timeline.objects.filter(
        encounter=timeline.encounter_id,
        inventory=timeline.inventory_id,
        case_run=timeline.case_run_id,
        source=timeline.source,
    ).exclude(kind="reference")
    return same.order_by("kind", "alternative").first() or timeline


def audit(
    encounter: Encounter, action: str, by: User, detail: Mapping[str, str | int | bool]
) -> None:
    """Record an answer, or that answers were shown: ids and counts only."""
    record(
        actor=by,
        study=encounter.dataset.study,
        action=action,
        object_type="ehr.encounter",
        object_id=encounter.public_id,
        detail=detail,
    )
