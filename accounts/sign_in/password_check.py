"""The only place that checks a password.

Sign-in, the password form and the signature of a review use it. They share the throttle of the
account and address (`accounts.sign_in.throttle`), and every refusal is in the audit trail
(`accounts.sign_in.signals`). A test reports checks elsewhere
(tests/integration/accounts/test_password_checks.py).
"""

from __future__ import annotations

from enum import StrEnum

from django.contrib.auth import authenticate
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import User
from accounts.sign_in import throttle


class Purpose(StrEnum):
    """The purpose of a password check, recorded in the trail if it fails."""

    SIGN_IN = "sign_in"
    NEW_PASSWORD = "new_password"
    SIGNATURE = "signature"
    SECOND_STEP = "second_step"
    CONNECT = "connect"


class WrongPassword(PermissionDenied):
    """The password is wrong, or the account and address have to wait.

    `wait` is then the number of seconds.
    """

    log_safe = True

    def __init__(self, wait: int) -> None:
        super().__init__(
            f"Too many attempts. Try again in {throttle.describe_wait(wait)}."
            if wait
            else "Wrong password."
        )
        self.wait = wait


def require_password(
    username: str, password: str, *, request: HttpRequest | None, purpose: Purpose
) -> User:
    """Return the active person with that name and password.

    Raises WrongPassword, TooManyRequests. Call it outside a transaction: a rollback would give the
    attempt back. Without a request (commands) nothing is throttled.
    """
    user = authenticate(request, username=username, password=password, purpose=purpose)
    if user is None:
        attempt = throttle.find_attempt(request)
        raise WrongPassword(0 if attempt is None else attempt.wait)
    assert isinstance(user, User)
    return user
