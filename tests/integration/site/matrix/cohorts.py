"""Access to the pages of cohorts."""

from __future__ import annotations

from tests.integration.site.matrix.timelines import LIST
from tests.integration.site.matrix.world import Row

ROWS = [Row("cohorts:overview", LIST)]
