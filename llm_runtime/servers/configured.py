"""The models that this installation has set, built once a process.

From MODEL_ROLES and MODEL_ENDPOINTS.
"""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from llm_runtime.roles import DEFAULT_ROLES, ModelRoles
from llm_runtime.servers.stored_facts import StoredFacts


@lru_cache(maxsize=1)
def configured_roles() -> ModelRoles:
    """Return the providers behind the roles.

    Keys are read from the variables that the settings name, and are in no setting.

    All processes on this database share what servers said of prompts.
    """
    roles = {**DEFAULT_ROLES, **settings.MODEL_ROLES}
    return ModelRoles(
        roles,
        settings.MODEL_ENDPOINTS,
        secret=settings.MODEL_KEY,
        facts=StoredFacts(),
    )
