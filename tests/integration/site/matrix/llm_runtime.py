"""Who may see which models are set and how they are."""

from __future__ import annotations

from tests.integration.site.matrix.accounts import ADMINS_ONLY
from tests.integration.site.matrix.world import Row

ROWS = [
    Row("llm_runtime:models", ADMINS_ONLY),
    Row("llm_runtime:health", ADMINS_ONLY),
]
