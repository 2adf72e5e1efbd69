"""The audit trail of the active study."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.audit.trail import AuditFilter, find_events
from accounts.models import Role, User
from accounts.registry import all_closed_objects
from accounts.scoping import StudyRequest, study_role_required

PAGE_SIZE = 50


@require_GET
@study_role_required(Role.ADMIN)
def audit_trail(request: StudyRequest) -> HttpResponse:
    """Newest first, filtered by person (public id) and action."""
    wanted = AuditFilter(person=request.GET.get("person", ""), action=request.GET.get("action", ""))
    closed = all_closed_objects(request.user)
    everything = find_events(request.study, closed=closed).order_by()
    context = {
        "wanted": wanted,
        # Details count occurrences and games: of a case that the person reviews, too.
        "details_closed": bool(closed),
        "page": Paginator(find_events(request.study, wanted, closed=closed), PAGE_SIZE).get_page(
            request.GET.get("page")
        ),
        "people": User.objects.filter(pk__in=everything.values("actor"))
        .order_by("username")
        .values_list("public_id", "username"),
        "actions": everything.values_list("action", "action").distinct().order_by("action"),
    }
    return render(request, "accounts/audit_trail.html", context)
