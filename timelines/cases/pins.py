"""Pin and unpin milestones of a case's story, for everyone in the study."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from timelines.models import Occurrence, StoryPin


@transaction.atomic
def pin_milestone(*, occurrence: Occurrence, pinned: bool, by: User) -> None:
    """Store that a person pinned or unpinned an occurrence, and record it.

    Pinning what is pinned changes nothing. The caller checks that the person may open the case.
    """
    locked = Occurrence.objects.select_for_update(no_key=True, of=("self",))
    found = locked.select_related("inventory__encounter__dataset__study").get(pk=occurrence.pk)
    last = StoryPin.objects.filter(occurrence=found).order_by("-pk").first()
    if (last is not None and last.pinned) == pinned:
        return
    StoryPin.objects.create(occurrence=found, pinned=pinned, by=by)
    encounter = found.inventory.encounter
    record(
        actor=by,
        study=encounter.dataset.study,
        action="case.pin" if pinned else "case.unpin",
        object_type="ehr.encounter",
        object_id=encounter.public_id,
        detail={"uid": found.uid4},
    )


def pinned_uids(inventory_id: int | None) -> frozenset[str]:
    """Return the UIDs of the pinned occurrences of an inventory."""
    if inventory_id is None:
        return frozenset()
    last = (
        StoryPin.objects.filter(occurrence__inventory_id=inventory_id)
        .order_by("occurrence_id", "-pk")
        .distinct("occurrence_id")
        .values_list("occurrence__uid4", "pinned")
    )
    return frozenset(uid for uid, pinned in last if pinned)
