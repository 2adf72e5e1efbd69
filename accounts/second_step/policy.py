"""Who must have a second step."""

from __future__ import annotations

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from django.conf import settings

from accounts.models import Membership, Role, User

#: Values of SECOND_STEP.
NOBODY, ADMINS, EVERYONE = "nobody", "admins", "everyone"
_STEPS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def has_second_step(user: User) -> bool:
    """Whether the person has an app or a passkey.

    Recovery codes alone do not count.
    """
    return bool(get_adapter().is_mfa_enabled(user, _STEPS))


def lacks_second_step(user: User) -> bool:
    """Whether the person must set one up before anything else.

    People who sign in at the provider have theirs there.
    """
    if settings.SECOND_STEP == NOBODY or not user.has_usable_password():
        return False
    if settings.SECOND_STEP == ADMINS and not _is_admin(user):
        return False
    return not has_second_step(user)


def _is_admin(user: User) -> bool:
    return user.is_superuser or Membership.objects.filter(user=user, role=Role.ADMIN).exists()
