"""Open the record of a case for a person, and record that they read it."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import CASE_READERS, check_user_can_open
from accounts.scoping import filter_by_role
from ehr.models import Encounter


def open_encounter(user: User, public_id: str) -> Encounter:
    """Return the encounter if the person may see its record.

    It must be in one of their studies. Raises Http404, NotAllowed.
    """
    cases = filter_by_role(
        Encounter.objects.select_related("dataset__study"),
        user,
        "dataset__study",
        roles=CASE_READERS,
    )
    encounter = get_object_or_404(cases, public_id=public_id)
    check_user_can_open(user, encounter.dataset.study, "ehr.encounter", public_id)
    return encounter


def audit_view(user: User, encounter: Encounter, action: str, **detail: int) -> None:
    """Record in the trail what the person read of the record."""
    record(
        actor=user,
        study=encounter.dataset.study,
        action=action,
        object_type="ehr.encounter",
        object_id=encounter.public_id,
        detail=detail,
    )
