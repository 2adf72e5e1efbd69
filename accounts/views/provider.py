"""Sign in and confirm one's identity at the OpenID Connect provider.

Browsers apply the `form-action` of the content security policy to redirects too, and a provider may
redirect to further hosts. So a page of ours follows the form, and the browser goes on from there:
the policy stays as it is (docs/adr/0069-sign-in-by-a-provider.md).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.forms import PasswordForm
from accounts.provider.client import PROVIDER_ERRORS, ProviderClient, find_account, find_provider
from accounts.provider.failures import Failure, fail
from accounts.sign_in.password_check import Purpose

View = Callable[[HttpRequest], HttpResponse]


def with_provider(view: View) -> View:
    """Answer 404 without a provider, and with a page of our own if it fails."""

    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponse:
        if settings.OIDC is None:
            raise Http404
        try:
            return view(request)
        except PROVIDER_ERRORS as error:
            return fail(request, Failure.UNREACHABLE, error=error)

    return wrapper


@require_POST
@with_provider
def provider_sign_in(request: HttpRequest) -> HttpResponse:
    """Start a sign-in."""
    return _go(request, AuthProcess.LOGIN, _next(request), {})


@require_POST
@login_required
@with_provider
def provider_confirm(request: HttpRequest) -> HttpResponse:
    """Ask the person to authenticate again, for one purpose.

    Raises Http404 for an unknown purpose or a person without an account at the provider.
    """
    purpose, what = request.POST.get("purpose", ""), request.POST.get("what", "")[:60]
    if purpose not in set(Purpose) or find_account(request.user) is None:  # type: ignore[arg-type]
        raise Http404
    data = {"purpose": purpose, "what": what, "started": time.time()}
    return _go(
        request, AuthProcess.REDIRECT, _next(request), data, {"prompt": "login", "max_age": "0"}
    )


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@login_required
@with_provider
def provider_connect(request: HttpRequest) -> HttpResponse:
    """Connect one's account with the provider, after the password was entered.

    Raises Http404 for people without a password here.
    """
    assert request.user.is_authenticated
    if not request.user.has_usable_password():
        raise Http404
    form = PasswordForm(request.POST or None)
    if form.is_valid() and form.check(request, Purpose.CONNECT):
        return _go(request, AuthProcess.CONNECT, _next(request), {}, {"prompt": "login"})
    context = {"form": form, "provider": find_provider()}
    status = 400 if form.errors else 200
    return render(request, "accounts/provider_connect.html", context, status=status)


@require_GET
@with_provider
def provider_callback(request: HttpRequest) -> HttpResponse:
    """Take the provider's answer: sign in, or note the confirmation."""
    answer: HttpResponse = OAuth2CallbackView.adapter_view(ProviderClient(request))(request)
    return answer


def _go(
    request: HttpRequest,
    process: str,
    next_url: str,
    data: dict[str, Any],
    asked: dict[str, str] | None = None,
) -> HttpResponse:
    nonce = secrets.token_urlsafe(24)
    answer = (
        ProviderClient(request)
        .get_provider()
        .redirect(
            request,
            process,
            next_url=next_url,
            data={**data, "nonce": nonce},
            auth_params={"nonce": nonce, **(asked or {})},
        )
    )
    return leave(request, answer["Location"])


def leave(request: HttpRequest, address: str) -> HttpResponse:
    """Return the page from which the browser goes to the provider."""
    if not address.startswith(("https://", "http://")):
        raise ValueError("the provider's address is none of the web")
    context = {"address": address, "provider_name": find_provider().name}
    return render(request, "accounts/provider_leave.html", context)


def _next(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if ours else resolve_url(settings.LOGIN_REDIRECT_URL)
