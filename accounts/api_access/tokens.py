"""Tokens of the API: issue, store as digests, list and revoke.

A token is shown once; a new password ends it. `by=None` is the command line.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import ApiToken, User
from accounts.permissions import NotAllowed

#: Most valid tokens of one person at a time.
MOST = 10
LONGEST_LABEL = 100


class TokenRefused(ValueError):
    """Why no token was issued, as a sentence."""

    log_safe = True


@transaction.atomic
def issue_token(*, user: User, label: str, by: User | None) -> tuple[ApiToken, str]:
    """Issue a token; return it with its secret, which is not stored.

    It ends after API_TOKEN_DAYS days. Raises NotAllowed, TokenRefused.
    """
    _check_own(user, by)
    # simultaneous requests take turns
    User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
    if not label.strip() or len(label) > LONGEST_LABEL or "\x00" in label:
        raise TokenRefused(
            f"Enter the purpose of the token, in at most {LONGEST_LABEL} characters."
        )
    if not user.is_active or user.must_change_password:
        raise TokenRefused(
            "The account is not active, or its one-time password was not replaced yet."
        )
    if find_tokens(user).count() >= MOST:
        raise TokenRefused(f"At most {MOST} tokens can be valid at once. Revoke one first.")
    token, secret = ApiToken.objects.create(
        user=user, label=label.strip(), password_hash=user.get_session_auth_hash()
    )
    _audit(token, "token.issue", by)
    return token, secret


@transaction.atomic
def revoke_token(*, token: ApiToken, by: User | None) -> None:
    """End a token at once. Raises NotAllowed for somebody else's."""
    _check_own(token.user, by)
    _audit(token, "token.revoke", by)
    token.delete()


def find_tokens(user: User) -> QuerySet[ApiToken]:
    """The person's tokens that have not expired, oldest first."""
    return ApiToken.objects.filter(Q(expiry__isnull=True) | Q(expiry__gt=timezone.now()), user=user)


def _check_own(user: User, by: User | None) -> None:
    if by is not None and by.pk != user.pk:
        raise NotAllowed("Only the owner of a token can use it here.")


def _audit(token: ApiToken, action: str, by: User | None) -> None:
    detail = {"person": token.user.public_id, "begins": token.token_key}
    record(
        actor=by,
        study=None,
        action=action,
        object_type="accounts.apitoken",
        object_id=token.public_id,
        detail=detail,
    )
