"""The link from the page of a case to what was known of it."""

from __future__ import annotations

from django.urls import reverse

from accounts.registry import Link
from ehr.models import Encounter


def as_of_link(encounter: Encounter, timeline: str, timelines: int) -> Link | None:
    """Link to the stay as of an hour; None without a timeline."""
    if not timelines:
        return None
    return Link("As of…", reverse("cohorts:as_of_case", args=[encounter.public_id]))
