"""The Models page.

What is configured, and in a fragment of its own, whether it can be reached.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.models import Role
from accounts.scoping import study_role_required
from llm_runtime.servers.configured import configured_roles
from llm_runtime.servers.lines import ROLES, load_health_lines


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
    return render(
        request, "llm_runtime/_health.html", {"lines": load_health_lines(configured_roles())}
    )
