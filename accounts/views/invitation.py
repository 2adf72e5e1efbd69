"""The page of an invitation's link, with and without an account."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.actions import AccountExists
from accounts.forms import NewAccountForm
from accounts.invitations.actions import (
    InvitationEnded,
    accept,
    accept_with_new_account,
    find_by_secret,
)
from accounts.invitations.session import remember
from accounts.models import Invitation, User
from accounts.scoping import set_active_study


@sensitive_variables("secret")
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Show what the link gives; a POST takes it, with this or a new account."""
    found = find_by_secret(secret)
    if found is None:
        return _ended(request)
    remember(request, found)
    try:
        if request.method == "POST" and isinstance(request.user, User):
            accept(invitation=found, by=request.user)
            set_active_study(request, found.study.public_id)
            messages.success(request, f"You are now in the study {found.study.name}.")
            return redirect("home")
        if request.method == "POST":
            return _create(request, found)
    except InvitationEnded:
        return _ended(request)
    return _page(request, found, NewAccountForm())


def _create(request: HttpRequest, found: Invitation) -> HttpResponse:
    form = NewAccountForm(request.POST)
    if settings.OIDC is not None and settings.OIDC.only:
        form.add_error(None, f"Sign in with {settings.OIDC.name} to take the invitation.")
    if form.is_valid():
        try:
            accept_with_new_account(
                invitation=found,
                username=form.cleaned_data["username"],
                password=form.cleaned_data["password1"],
            )
        except AccountExists as error:
            form.add_error("username", str(error))
        except ValidationError as error:
            form.add_error(None, error.messages)
        else:
            messages.success(request, "Your account is ready. Sign in with it.")
            return redirect("accounts:sign_in")
    return _page(request, found, form, status=400)


def _page(request: HttpRequest, found: Invitation, form: Any, status: int = 200) -> HttpResponse:
    context = {"invitation": found, "form": form, "provider": settings.OIDC}
    return render(request, "accounts/invitation.html", context, status=status)


def _ended(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/invitation_ended.html", status=404)
