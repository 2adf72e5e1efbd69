"""A person's own sessions: list and end them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.sessions.actions import end_sessions
from accounts.sessions.stored import find_sessions
from accounts.wording import format_count


@require_GET
@login_required
def sessions(request: HttpRequest) -> HttpResponse:
    """Show where the person is signed in."""
    assert request.user.is_authenticated
    lines = find_sessions(request.user, request.session.session_key)
    return render(request, "accounts/sessions.html", {"lines": lines})


@require_POST
@login_required
def sessions_end(request: HttpRequest) -> HttpResponse:
    """End one other session, or all others. Raises Http404 for anybody else's."""
    assert request.user.is_authenticated
    sent = request.POST.get("session", "")
    number = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 19 else None
    if sent and number is None:
        raise Http404
    ended = end_sessions(
        user=request.user, by=request.user, number=number, keep_key=request.session.session_key
    )
    if number is not None and not ended:
        raise Http404
    messages.success(request, f"{format_count(ended, 'session')} ended.")
    return redirect("accounts:sessions")
