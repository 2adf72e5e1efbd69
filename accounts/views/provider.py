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
from urllib.parse import urlencode

from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from accounts.provider.client import PROVIDER_ERRORS, ProviderClient, find_account, find_provider
from accounts.provider.failures import Failure, fail
from accounts.provider.sign_out import ID_TOKEN, end_provider_sessions, read_logout
from accounts.provider.tokens import TokenRefused
from accounts.sign_in.password_check import Purpose

LONGEST_HINT = 4000
View = Callable[[HttpRequest], HttpResponse]


def with_provider(view: View) -> View:
    """Answer 404 without a provider, and with a page of our own if it fails."""

    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponse:
        if settings.OIDC is None:
            raise Http404
        try:
            return view(request)
        except PROVIDER_ERRORS:
            return fail(request, Failure.UNREACHABLE)

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


@require_GET
@with_provider
def provider_callback(request: HttpRequest) -> HttpResponse:
    """Take the provider's answer: sign in, or note the confirmation."""
    answer: HttpResponse = OAuth2CallbackView.adapter_view(ProviderClient(request))(request)
    return answer


@csrf_exempt  # the provider's server asks; its signature is checked
@require_POST
@with_provider
def provider_signed_out(request: HttpRequest) -> HttpResponse:
    """End sessions whose person signed out there (back-channel logout)."""
    try:
        claims = ProviderClient(request).verify(request.POST.get("logout_token", ""))
        subject, session = read_logout(claims)
    except TokenRefused:
        return HttpResponse("The token was refused.", status=400, content_type="text/plain")
    end_provider_sessions(issuer=find_provider().issuer, subject=subject, session=session, by=None)
    return HttpResponse(status=204)


def provider_sign_out(request: HttpRequest) -> str:
    """Return the address that ends the session at the provider, or "".

    Call it before the session here ends.
    """
    id_token = request.session.get(ID_TOKEN)
    if settings.OIDC is None or not id_token:
        return ""
    try:
        address = ProviderClient(request).openid_config.get("end_session_endpoint", "")
    except PROVIDER_ERRORS:
        return ""
    back = request.build_absolute_uri(reverse("accounts:sign_in"))
    sent = {"client_id": find_provider().client_id, "post_logout_redirect_uri": back}
    # with a long list of groups it would not fit into an address; the provider then asks the person
    if len(id_token) <= LONGEST_HINT:
        sent["id_token_hint"] = id_token
    return f"{address}?{urlencode(sent)}" if address else ""


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
