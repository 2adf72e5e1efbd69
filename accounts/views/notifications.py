"""A person's own notifications: list, open, mark as read, choose."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import Notification
from accounts.notifications.actions import choose, mark_read
from accounts.notifications.choices import Wish, can_mail, mail_is_set_up, own_wishes
from accounts.notifications.reading import own_notifications

PAGE_SIZE = 50


@require_GET
@login_required
def notifications(request: HttpRequest) -> HttpResponse:
    """List them, latest first, with the form of choices."""
    assert request.user.is_authenticated
    found = own_notifications(request.user)
    wishes = own_wishes(request.user)
    context = {
        "page": Paginator(found, PAGE_SIZE).get_page(request.GET.get("page")),
        "unread": found.filter(read_at__isnull=True).count(),
        "kinds": [(kind, kind.label, wishes[kind.value]) for kind in Notification.Kind],
        "mail_is_set_up": mail_is_set_up(),
        "can_mail": can_mail(request.user),
    }
    return render(request, "accounts/notifications.html", context)


@require_POST
@login_required
def notification_open(request: HttpRequest, public_id: str) -> HttpResponse:
    """Mark one as read and go to its page."""
    assert request.user.is_authenticated
    found = get_object_or_404(own_notifications(request.user), public_id=public_id)
    mark_read(by=request.user, public_ids=[public_id])
    return redirect(found.path)


@require_POST
@login_required
def notifications_read(request: HttpRequest) -> HttpResponse:
    """Mark all as read."""
    assert request.user.is_authenticated
    mark_read(by=request.user)
    return redirect("accounts:notifications")


@require_POST
@login_required
def notifications_choose(request: HttpRequest) -> HttpResponse:
    """Store which kinds the person wants."""
    assert request.user.is_authenticated
    shown, mailed = request.POST.getlist("shown"), request.POST.getlist("mailed")
    choose(
        by=request.user,
        wishes={k: Wish(k in shown, k in mailed) for k in Notification.Kind.values},
    )
    messages.success(request, "Your choice is saved.")
    return redirect("accounts:notifications")
