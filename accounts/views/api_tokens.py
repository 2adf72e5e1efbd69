"""A person's own API tokens: list, create (shown once) and revoke."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.api_access.tokens import (
    LONGEST_LABEL,
    TokenRefused,
    find_tokens,
    issue_token,
    revoke_token,
)


@require_http_methods(["GET", "POST"])
@login_required
def api_tokens(request: HttpRequest) -> HttpResponse:
    """Show the valid tokens; a POST creates one.

    The new token is in this response and never shown again.
    """
    assert request.user.is_authenticated
    secret, error = "", ""
    if request.method == "POST":
        try:
            _, secret = issue_token(
                user=request.user, label=request.POST.get("label", ""), by=request.user
            )
        except TokenRefused as refused:
            error = str(refused)
    context = {
        "tokens": find_tokens(request.user),
        "secret": secret,
        "error": error,
        "longest": LONGEST_LABEL,
    }
    return render(request, "accounts/api_tokens.html", context, status=400 if error else 200)


@require_POST
@login_required
def api_token_revoke(request: HttpRequest) -> HttpResponse:
    """End one of one's own."""
    assert request.user.is_authenticated
    token = get_object_or_404(find_tokens(request.user), public_id=request.POST.get("token", ""))
    revoke_token(token=token, by=request.user)
    messages.success(request, "The token is revoked.")
    return redirect("accounts:api_tokens")
