"""Second steps of a sign-in, with the library's own views.

The library asks for the password again before it changes anything; our page takes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.internal.flows.reauthentication import (
    is_reauthentication_required,
    reauthenticate_by_password,
    resume_request,
)
from allauth.mfa.webauthn.views import LoginWebAuthnView, RemoveWebAuthnView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.audit.trail import record
from accounts.forms import PasswordForm
from accounts.sign_in.password_check import Purpose

View = Callable[..., HttpResponseBase]


def after_password(view: View) -> View:
    """Ask for the password first, unless it was entered just now.

    The library's own redirect would repeat the query, however long it is. Raises PermissionDenied
    for people without a password here.
    """

    @login_required
    @wraps(view)
    def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        assert request.user.is_authenticated
        if not request.user.has_usable_password():
            raise PermissionDenied
        if is_reauthentication_required(request, app="allauth.mfa"):
            return redirect(f"{reverse('account_reauthenticate')}?next={request.path}")
        return view(request, **kwargs)

    return wrapper


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@login_required
def confirm_password(request: HttpRequest) -> HttpResponseBase:
    """Ask for the password before a second step is changed."""
    assert request.user.is_authenticated
    if not request.user.has_usable_password():
        raise PermissionDenied
    form = PasswordForm(request.POST or None)
    if form.is_valid() and form.check(request, Purpose.SECOND_STEP):
        reauthenticate_by_password(request)
        answer: HttpResponse | None = resume_request(request)
        return answer or redirect("mfa_index")
    return render(
        request,
        "accounts/confirm_password.html",
        {"form": form, "next": request.GET.get("next", "")},
        status=400 if form.errors else 200,
    )


class RemovePasskey(RemoveWebAuthnView):
    """Remove one of one's own passkeys."""

    success_url = reverse_lazy("mfa_index")


class PasskeySignIn(LoginWebAuthnView):
    """Sign in with a passkey alone, which has checked a finger, face or PIN."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Raises Http404 if everyone signs in at the provider."""
        if settings.OIDC is not None and settings.OIDC.only:
            raise Http404
        answer: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return answer

    def form_invalid(self, form: Any) -> HttpResponse:
        """Say so on the sign-in page, and record it."""
        record(
            actor=None,
            study=None,
            action="session.sign_in_failed",
            detail={"origin": "passkey"},
        )
        messages.error(self.request, "This passkey was not accepted.")
        return redirect("accounts:sign_in")
