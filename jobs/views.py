"""Webhooks: add, remove and test them from the page of the study."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from accounts.models import Role
from accounts.permissions import STUDY_ADMINS
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from jobs.models import Webhook
from jobs.webhooks.actions import add_webhook, remove_webhook, send_test
from jobs.webhooks.addresses import AddressRefused


@require_POST
@study_role_required(Role.ADMIN)
def add(request: StudyRequest) -> HttpResponse:
    """Add an address and show its secret, once."""
    try:
        made = add_webhook(
            study=request.study, url=request.POST.get("url", "").strip(), by=request.user
        )
    except AddressRefused as refused:
        messages.error(request, str(refused))
        return redirect("accounts:study")
    return render(request, "jobs/webhook_secret.html", {"hook": made})


@require_POST
@study_role_required(Role.ADMIN)
def remove(request: StudyRequest, public_id: str) -> HttpResponse:
    """Remove an address with its deliveries."""
    remove_webhook(webhook=_find(request, public_id), by=request.user)
    messages.success(request, "The webhook is removed. Nothing more is sent to it.")
    return redirect("accounts:study")


@require_POST
@study_role_required(Role.ADMIN)
def test(request: StudyRequest, public_id: str) -> HttpResponse:
    """Queue a test message."""
    send_test(webhook=_find(request, public_id), by=request.user)
    messages.success(request, "A test message is queued. Reload the page to see how it ended.")
    return redirect("accounts:study")


def _find(request: StudyRequest, public_id: str) -> Webhook:
    found = filter_by_role(
        Webhook.objects.select_related("study"), request.user, roles=STUDY_ADMINS
    )
    return get_object_or_404(found, public_id=public_id)
