"""The clock of a stay."""

from __future__ import annotations

from ehr.models import Encounter
from ehr.presentation.clock import Clock


def clock_of(encounter: Encounter) -> Clock:
    """Return how pages write times of the encounter."""
    return Clock.of_stay(encounter.admitted_at, encounter.discharged_at)
