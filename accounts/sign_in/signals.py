"""Record sign-in, sign-out and failed sign-in in the audit trail.

The name as typed is not recorded: it may be a password. Failures of one window are recorded when
they are 1, 2, 4, 8, … and when they reach the limit, with their count: a client that goes on for
ever does not fill the trail, which nobody can shorten.
"""

from __future__ import annotations

from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from accounts.audit.trail import record
from accounts.models import User
from accounts.requests.counting import Count
from accounts.sign_in import throttle
from accounts.sign_in.devices import mark_device
from accounts.sign_in.password_check import Purpose


def connect() -> None:
    """Called once, by AppConfig.ready."""
    user_logged_in.connect(on_sign_in, dispatch_uid="accounts.sign_in")
    user_logged_out.connect(on_sign_out, dispatch_uid="accounts.sign_out")
    user_login_failed.connect(on_failure, dispatch_uid="accounts.sign_in_failed")


def on_sign_in(request: HttpRequest | None, user: Any, **kwargs: Any) -> None:
    """Someone signed in, by the ways that the library notes."""
    ways = [one["method"] for one in get_authentication_records(request, user)] if request else []
    record(actor=user, study=None, action="session.sign_in", detail={"ways": " ".join(ways)[:200]})
    if request is not None and isinstance(user, User):
        mark_device(request, user)


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
    account = get_user_model().objects.filter(username=name).first()
    attempt = throttle.find_attempt(request)
    count = attempt.find_count(known_account=account is not None) if attempt else None
    if count is not None and not _is_recorded(count):
        return
    detail: dict[str, Any] = (
        {} if count is None else {"locked": count.wait > 0, "failures": count.count}
    )
    if purpose == Purpose.SIGN_IN:
        action, detail["known_account"] = "session.sign_in_failed", account is not None
    else:
        action, detail["purpose"] = "account.password_refused", str(purpose)
    record(actor=account, study=None, action=action, detail=detail)


def _is_recorded(count: Count) -> bool:
    """Return True for 1, 2, 4, 8, … and for the last one of the limit."""
    return count.count == count.most or count.count.bit_count() == 1
