"""What django-allauth asks us to decide about sign-ins at the provider.

There is one provider, from the settings. It names people by issuer and subject; nobody gets an
account of the same e-mail or name.
"""

from __future__ import annotations

from typing import Any, NoReturn

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base import AuthError, AuthProcess
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare

from accounts.invitations.session import is_invited
from accounts.models import User
from accounts.permissions import NotAllowed
from accounts.provider.actions import (
    connect_account,
    create_provider_account,
    provide_roles,
    update_email,
)
from accounts.provider.client import KIND, find_provider
from accounts.provider.confirmation import set_mark
from accounts.provider.failures import Failure, fail
from accounts.provider.sign_out import ID_TOKEN, PROVIDER_SESSION
from accounts.provider.values import Provider
from accounts.sign_in.password_check import Purpose

#: Seconds by which the provider's clock may be behind ours.
CLOCK_SKEW = 60


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Signing in at the provider."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """Return the provider of the settings, never one of the database."""
        known: Provider | None = settings.OIDC
        if known is None or provider not in (None, KIND, known.issuer):
            return []
        options = {
            "server_url": known.issuer.rstrip("/"),
            "scope": list(known.scopes),
            "oauth_pkce_enabled": True,
        }
        return [
            SocialApp(
                provider=KIND,
                provider_id=known.issuer,
                name=known.name,
                client_id=known.client_id,
                secret=known.client_secret,
                settings=options,
            )
        ]

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Whether this new person may have an account; the page says why not."""
        provider = find_provider()
        known = provider.find_roles(sociallogin.claims.groups) or is_invited(request)
        if provider.roles and not known:
            _refuse(request, Failure.NO_ACCESS)
        return True

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Check the answer once more; update a known person's roles."""
        sent = sociallogin.state.get("data") or {}
        nonce = sent.get("nonce")
        if not nonce or not constant_time_compare(sociallogin.claims.nonce, nonce):
            _refuse(request, Failure.INVALID)
        person = sociallogin.user if sociallogin.is_existing else None
        if person is not None and not person.is_active:
            _refuse(request, Failure.INACTIVE, person)
        if sociallogin.state.get("process") == AuthProcess.REDIRECT:
            _confirm(request, sociallogin, sent)
            return
        if sociallogin.state.get("process") == AuthProcess.CONNECT:
            _connect(request, sociallogin)
        if person is not None:
            _update(person, sociallogin)

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: None = None) -> User:
        """Create the account of a new person, with its roles."""
        claims = sociallogin.claims
        sociallogin.account = create_provider_account(
            issuer=sociallogin.account.provider,
            subject=sociallogin.account.uid,
            username=claims.username or claims.email.partition("@")[0],
            by=None,
        )
        user: User = sociallogin.account.user
        sociallogin.user = user
        _update(user, sociallogin)
        return user

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, **kwargs: Any
    ) -> None:
        """Show our own page. Raises ImmediateHttpResponse."""
        if (kwargs.get("extra_context") or {}).get("state") is None:
            _refuse(request, Failure.EXPIRED)
        failure = Failure.CANCELLED if error == AuthError.CANCELLED else Failure.INVALID
        _refuse(request, failure, error=kwargs.get("exception"))


def _update(person: User, login: SocialLogin) -> None:
    provide_roles(user=person, roles=find_provider().find_roles(login.claims.groups), by=None)
    update_email(user=person, email=login.claims.email)


def _confirm(request: HttpRequest, login: SocialLogin, sent: dict[str, Any]) -> None:
    """Mark the session if the same person authenticated just now."""
    person = request.user
    if not isinstance(person, User) or login.user != person:
        _refuse(request, Failure.OTHER_PERSON)
    at = login.claims.authenticated_at
    if at is None or at < sent["started"] - CLOCK_SKEW:
        _refuse(request, Failure.NOT_FRESH)
    set_mark(request, Purpose(sent["purpose"]), sent["what"])


def _connect(request: HttpRequest, login: SocialLogin) -> NoReturn:
    """Connect the account of the session, whose password was just entered."""
    person, account = request.user, login.account
    if not isinstance(person, User):
        _refuse(request, Failure.EXPIRED)
    try:
        connect_account(user=person, issuer=account.provider, subject=account.uid, by=person)
    except NotAllowed:
        _refuse(request, Failure.CONNECTED)
    update_session_auth_hash(request, person)
    _update(person, login)
    request.session[ID_TOKEN] = login.id_token
    request.session[PROVIDER_SESSION] = login.claims.session
    raise ImmediateHttpResponse(redirect("accounts:password_change"))


def _refuse(
    request: HttpRequest,
    failure: Failure,
    account: User | None = None,
    error: BaseException | None = None,
) -> NoReturn:
    raise ImmediateHttpResponse(fail(request, failure, account=account, error=error))
