"""The Models page.

What is configured, and in a fragment of its own, whether it can be reached.
"""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.models import Role
from accounts.scoping import study_role_required
from llm_runtime.models import ModelCall, Outcome
from llm_runtime.roles import EMBEDDER, LANGUAGE_ROLES, MATCHER, RERANKER, TKW2_EMBEDDER
from llm_runtime.servers.configured import configured_roles
from llm_runtime.servers.health import Health, check_health

ROLES = (*LANGUAGE_ROLES, EMBEDDER, RERANKER, MATCHER, TKW2_EMBEDDER)


@require_GET
@study_role_required(Role.ADMIN)
def models(request: HttpRequest) -> HttpResponse:
    """The page; it asks no server and so opens at once."""
    roles = configured_roles()
    missing = [role for role in ROLES if not roles.has(role)]
    return render(request, "llm_runtime/models.html", {"missing": missing})


@require_GET
@study_role_required(Role.ADMIN)
def health(request: HttpRequest) -> HttpResponse:
    """Each model with what its server says now, as a fragment."""
    lines = [_add_last_error(line) for line in check_health(configured_roles(), ROLES)]
    return render(request, "llm_runtime/_health.html", {"lines": lines})


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
