"""Signing out: here and at the provider, and there first."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from accounts.provider.client import PROVIDER_ERRORS, ProviderClient, find_provider
from accounts.provider.sign_out import ID_TOKEN, end_provider_sessions, read_logout
from accounts.provider.tokens import TokenRefused
from accounts.views.provider import with_provider

LONGEST_HINT = 4000


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


def find_sign_out_address(request: HttpRequest) -> str:
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
