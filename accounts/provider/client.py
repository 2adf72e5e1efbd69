"""Talk OpenID Connect with the provider, stricter than the library does.

The ID token's signature is always verified, its nonce and subject are compared, and only the
configured issuer is accepted.
"""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.urls import reverse
from requests import RequestException

from accounts.models import User
from accounts.provider.tokens import verify_token
from accounts.provider.values import Claims, Provider

#: How the library calls this kind of provider.
KIND = "openid_connect"
#: What goes wrong while the provider is asked: it does not answer, or says something odd.
PROVIDER_ERRORS = (RequestException, OAuth2Error, KeyError, TypeError, ValueError)


class ProviderClient(OpenIDConnectOAuth2Adapter):
    """Asks the provider for a person's tokens and claims."""

    def __init__(self, request: HttpRequest, provider_id: str = "") -> None:
        super().__init__(request, provider_id or find_provider().issuer)

    def get_provider(self) -> Any:
        """Return the provider, which talks through this class."""
        provider = super().get_provider()
        provider.oauth2_adapter_class = ProviderClient
        return provider

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's description.

        Raises OAuth2Error for that of another issuer.
        """
        found: dict[str, Any] = super().openid_config
        if found["issuer"] != find_provider().issuer:
            raise OAuth2Error("the description is of another issuer")
        return found

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        """Return where the provider sends people back to."""
        return request.build_absolute_uri(reverse("accounts:provider_callback"))

    def complete_login(
        self, request: HttpRequest, app: Any, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        """Return the person's login.

        It has no addresses of e-mail, by which the library could find another account, and stores
        no claims. Raises OAuth2Error for tokens that do not fit.
        """
        try:
            id_token = kwargs["response"]["id_token"]
            claims = self.verify(id_token)
            claims = {**self._find_more(token.token, claims["sub"]), **claims}
            login = self.get_provider().sociallogin_from_response(request, {"id_token": claims})
        except (ImproperlyConfigured, KeyError, TypeError, ValueError) as error:
            # the library calls a subject that is too long a wrong configuration
            raise OAuth2Error("odd tokens") from error
        login.email_addresses = []
        login.account.extra_data = {}
        login.claims = Claims.read(claims, find_provider().groups_claim)
        login.id_token = id_token
        return login

    def verify(self, token: str) -> dict[str, Any]:
        """Return the claims of a token of the provider. Raises TokenRefused."""
        provider = find_provider()
        return verify_token(
            token, self.fetch_keys(), issuer=provider.issuer, audience=provider.client_id
        )

    def fetch_keys(self) -> dict[str, Any]:
        """Return the provider's keys as they are now."""
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def _find_more(self, access_token: str, subject: str) -> dict[str, Any]:
        if "userinfo_endpoint" not in self.openid_config:
            return {}
        found: dict[str, Any] = self._fetch_user_info(access_token)
        if found["sub"] != subject:
            raise OAuth2Error("the two answers are about different people")
        return found


def find_provider() -> Provider:
    """Return the configured provider."""
    provider: Provider | None = settings.OIDC
    assert provider is not None, "only asked while OIDC_ISSUER is set"
    return provider


def find_account(user: User) -> SocialAccount | None:
    """Return the person's account at the configured provider, or None."""
    if settings.OIDC is None:
        return None
    return SocialAccount.objects.filter(user_id=user.pk, provider=settings.OIDC.issuer).first()
