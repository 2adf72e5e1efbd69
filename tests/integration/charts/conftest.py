"""A stay with several notes that report the same events."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ehr.models import Note
from tests import factories
from tests.integration.charts.linked import NOTES
from tests.worlds.reconstructed import LIGHT_ROLES


@pytest.fixture
def light_models(settings):
    settings.MODEL_ROLES = LIGHT_ROLES


@pytest.fixture
def encounter(light_models):
    """The stay; a run over all its notes links them."""
    encounter = factories.make_encounter()
    for kind, hours, text in NOTES:
        note = factories.make_note(encounter, text)
        written = encounter.admitted_at + timedelta(hours=hours)
        Note.objects.filter(pk=note.pk).update(kind=kind, charted_at=written)
    return encounter
