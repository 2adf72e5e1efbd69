"""A stay with several notes that report the same events."""

from __future__ import annotations

import pytest

from tests.integration.charts.linked import NOTES, make_chart
from tests.worlds.reconstructed import LIGHT_ROLES


@pytest.fixture
def light_models(settings):
    settings.MODEL_ROLES = LIGHT_ROLES


@pytest.fixture
def encounter(light_models):
    """The stay; a run over all its notes links them."""
    return make_chart(NOTES)
