"""The models that this installation has set, built once a process.

From MODEL_PRESET, MODEL_ROLES and MODEL_ENDPOINTS.
"""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from llm_runtime.roles import PRESETS, ModelRoles
from llm_runtime.servers.stored_facts import StoredFacts


@lru_cache(maxsize=1)
def configured_roles() -> ModelRoles:
    """Return the providers behind the roles: the preset's, and those set.

    Keys are read from the variables that the settings name, and are in no setting.

    All processes on this database share what servers said of prompts.
    """
    roles = {**PRESETS[settings.MODEL_PRESET], **settings.MODEL_ROLES}
    return ModelRoles(
        roles,
        settings.MODEL_ENDPOINTS,
        secret=settings.MODEL_KEY,
        facts=StoredFacts(),
    )
