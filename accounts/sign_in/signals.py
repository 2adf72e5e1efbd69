"""Record sign-in, sign-out and failed sign-in in the audit trail.

The name as typed is not recorded: it may be a password.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from accounts.audit.trail import record
from accounts.sign_in import throttle
from accounts.sign_in.password_check import Purpose


def connect() -> None:
    """Called once, by AppConfig.ready."""
    user_logged_in.connect(on_sign_in, dispatch_uid="accounts.sign_in")
    user_logged_out.connect(on_sign_out, dispatch_uid="accounts.sign_out")
    user_login_failed.connect(on_failure, dispatch_uid="accounts.sign_in_failed")


def on_sign_in(request: HttpRequest | None, user: Any, **kwargs: Any) -> None:
    """Someone signed in."""
    record(actor=user, study=None, action="session.sign_in")


def on_sign_out(request: HttpRequest | None, user: Any, **kwargs: Any) -> None:
    """Someone signed out, or was signed out by a limit."""
    if user is not None:
        record(actor=user, study=None, action="session.sign_out")


def on_failure(
    credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
) -> None:
    """Record a refused password, at the sign-in or a later check.

    The account is named if there is one.
    """
    name, purpose = (
        str(credentials.get("username", "")),
        credentials.get("purpose", Purpose.SIGN_IN),
    )
    locked = request is not None and throttle.seconds_locked(throttle.make_key(request, name)) > 0
    account = get_user_model().objects.filter(username=name).first()
    if purpose == Purpose.SIGN_IN:
        record(
            actor=account,
            study=None,
            action="session.sign_in_failed",
            detail={"known_account": account is not None, "locked": locked},
        )
    else:
        record(
            actor=account,
            study=None,
            action="account.password_refused",
            detail={"purpose": str(purpose), "locked": locked},
        )
