"""The lines of the list of models: what servers say, and the last error."""

from __future__ import annotations

from dataclasses import replace

from llm_runtime.models import ModelCall, Outcome
from llm_runtime.roles import EMBEDDER, LANGUAGE_ROLES, MATCHER, RERANKER, TKW2_EMBEDDER, ModelRoles
from llm_runtime.servers.health import Health, check_health

ROLES = (*LANGUAGE_ROLES, EMBEDDER, RERANKER, MATCHER, TKW2_EMBEDDER)


def load_health_lines(roles: ModelRoles) -> list[Health]:
    """Return each configured model with its last error; asks the servers."""
    return [_add_last_error(line) for line in check_health(roles, ROLES)]


def _add_last_error(line: Health) -> Health:
    """Add the latest call of that model that got no reply.

    Of any study: its reasons have no patient text.
    """
    if not line.endpoint:
        return line
    without = ModelCall.objects.filter(model=line.name, response__isnull=True).exclude(
        outcome=Outcome.PENDING
    )
    failed = without.order_by("-created_at").first()
    if failed is None or not failed.reasons:
        return line
    return replace(line, last_error=f"{failed.created_at:%Y-%m-%d %H:%M} UTC: {failed.reasons[-1]}")
