"""The link from a case page to the comparison of its timelines."""

from __future__ import annotations

from django.urls import reverse

from accounts.registry import Link
from ehr.models import Encounter


def compare_link(encounter: Encounter, timeline: str, timelines: int) -> Link | None:
    """Link to a comparison of the shown timeline; None if there is no other."""
    if timelines < 2:
        return None
    return Link(
        "Compare", f"{reverse('adjudication:compare', args=[encounter.public_id])}?a={timeline}"
    )
