"""The address of what was known of a stay, for its case page."""

from __future__ import annotations

from django.urls import reverse

from ehr.models import Encounter


def as_of_address(encounter: Encounter) -> str:
    """Return the address of the stay as of an hour."""
    return reverse("cohorts:as_of_case", args=[encounter.public_id])
