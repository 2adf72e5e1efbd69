"""Identify a client by its token: `Authorization: Bearer …`.

A token is a pair of a name (how it begins) and a secret (the rest), so wrong ones are counted like
wrong passwords: for each name and address, and after SIGN_IN_ATTEMPTS of them the pair waits.
"""

from __future__ import annotations

import re
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from knox.auth import TokenAuthentication
from knox.settings import CONSTANTS
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from accounts.audit.trail import record
from accounts.models import ApiToken, User
from accounts.sign_in import throttle

TOKEN = re.compile(rb"[0-9a-f]{64}")
#: Precision of the stored time of last use.
USED_EVERY = timedelta(minutes=5)
REFUSAL = (
    "The token is wrong, revoked, expired, or older than your password. Create a new one. If you"
    " sign in at a provider, do so first."
)


class ApiTokenAuthentication(TokenAuthentication):
    """Authenticates a person by the digest of a token.

    Raises AuthenticationFailed (401), Throttled (429).
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return (person, token), or None if no token was sent."""
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != b"bearer":
            return None
        if len(words) != 2 or not TOKEN.fullmatch(words[1]):
            raise AuthenticationFailed(REFUSAL)
        name = words[1][: CONSTANTS.TOKEN_KEY_LENGTH].decode()
        key = throttle.make_key(request._request, f"api token {name}")
        if wait := throttle.seconds_locked(key):
            raise Throttled(wait)
        try:
            user, token = self.authenticate_credentials(words[1])
        except AuthenticationFailed:
            throttle.spend(key)
            if (known := ApiToken.objects.filter(token_key=name).first()) is not None:
                record(
                    actor=None,
                    study=None,
                    action="token.refused",
                    object_type="accounts.apitoken",
                    object_id=known.public_id,
                )
            raise AuthenticationFailed(REFUSAL) from None
        _record_use(token)
        return user, token

    def validate_user(self, token: ApiToken) -> tuple[User, ApiToken]:
        """Check that the account is active, with its own, unchanged password.

        The sign-in page asks for the same. Raises AuthenticationFailed if the password is a
        one-time one or has changed since the token was made, and for a person of the provider who
        has not signed in for days.
        """
        user: User = token.user
        hashes = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
        same = any(constant_time_compare(token.password_hash, one) for one in hashes)
        if not user.is_active or user.must_change_password or not same or _is_stale(user):
            raise AuthenticationFailed(REFUSAL)
        return user, token


def _is_stale(user: User) -> bool:
    """Whether the last sign-in at the provider is too long ago.

    It may have dropped the person since.
    """
    if user.has_usable_password():
        return False
    if settings.OIDC is None or user.last_login is None:
        return True
    return timezone.now() - user.last_login > timedelta(days=settings.OIDC.token_days)


def _record_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > USED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
