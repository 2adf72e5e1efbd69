"""Confirm one's identity again, for one purpose.

People with a password here enter it (`accounts.sign_in.password_check`). The others sign in at the
provider again; the session then has a mark that is used up once, within minutes.
"""

from __future__ import annotations

import time

from django.http import HttpRequest

from accounts.models import User
from accounts.permissions import NotAllowed
from accounts.sign_in.password_check import Purpose, require_password

_MARK = "confirmed_at_provider"
#: How long the mark is good for, in seconds.
GOOD_FOR = 300


class ConfirmationNeeded(NotAllowed):
    """The person has to sign in at the provider again first."""


def require_identity(
    by: User, password: str, *, request: HttpRequest | None, purpose: Purpose, what: str
) -> None:
    """Check the password, or use up the mark of a new sign-in at the provider.

    `what` names the thing to confirm, for example the id of a review. Raises WrongPassword,
    ConfirmationNeeded. Call it outside a transaction.
    """
    if by.has_usable_password():
        require_password(by.get_username(), password, request=request, purpose=purpose)
    elif request is None or not has_mark(request, purpose, what):
        raise ConfirmationNeeded(
            "Sign in again first, on the page of this site that asks for it, and then confirm."
        )
    else:
        del request.session[_MARK]


def set_mark(request: HttpRequest, purpose: Purpose, what: str) -> None:
    """Remember in the session that the person signed in for this purpose."""
    request.session[_MARK] = {"for": f"{purpose}:{what}", "at": time.time()}


def has_mark(request: HttpRequest, purpose: Purpose, what: str) -> bool:
    """Whether the person signed in for this purpose within the last minutes."""
    mark = request.session.get(_MARK) or {}
    return (
        mark.get("for") == f"{purpose}:{what}" and 0 <= time.time() - float(mark["at"]) <= GOOD_FOR
    )
