"""The operator's page: what runs, what is stuck, what is stored.

For superusers. It shows nothing of a study's data; links lead to pages that ask for a role.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import STUDY_ADMINS, NotAllowed
from accounts.scoping import find_studies
from config.operations.problems import find_problems
from config.operations.state import load_state
from jobs.health.stuck import retry_stuck
from jobs.states import InvalidTransition
from llm_runtime.servers.configured import configured_roles
from llm_runtime.servers.lines import load_health_lines

View = Callable[[Any], HttpResponse]


def operator_required(view: View) -> View:
    """Let only superusers in. Raises NotAllowed for others."""

    @login_required
    @wraps(view)
    def wrapper(request: Any) -> HttpResponse:
        if not request.user.is_superuser:
            raise NotAllowed("This page is for the operators of this installation.")
        return view(request)

    return wrapper


@require_GET
@operator_required
def operations(request: Any) -> HttpResponse:
    """Show the page; htmx gets the part that changes."""
    state = load_state()
    template = "operations/_live.html" if request.htmx else "operations/page.html"
    # A link to a page that the operator may not open would only lead to a refusal.
    mine = set(find_studies(request.user, STUDY_ADMINS).values_list("pk", flat=True))
    context = {"state": state, "problems": find_problems(state), "administered": mine}
    return render(request, template, context)


@require_GET
@operator_required
def models(request: HttpRequest) -> HttpResponse:
    """Return each model with what its server says now, as a fragment."""
    return render(
        request, "llm_runtime/_health.html", {"lines": load_health_lines(configured_roles())}
    )


@require_POST
@operator_required
def retry(request: Any) -> HttpResponse:
    """Queue a failed job again that has no page of its own."""
    number = request.POST.get("job", "")
    try:
        job_id = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else 0
        retry_stuck(kind=request.POST.get("kind", ""), job_id=job_id, by=request.user)
    except (LookupError, InvalidTransition):
        messages.error(request, "This job has changed. Look at the list again.")
    else:
        messages.success(request, "The job is queued again.")
    return redirect("operations")
