"""Record in the trail what people do with their second steps."""

from __future__ import annotations

from typing import Any

from allauth.mfa import signals
from allauth.mfa.models import Authenticator

from accounts.audit.trail import record
from accounts.models import User


def connect() -> None:
    """Called once, by AppConfig.ready."""
    signals.authenticator_added.connect(on_added, dispatch_uid="accounts.step_added")
    signals.authenticator_removed.connect(on_removed, dispatch_uid="accounts.step_removed")
    signals.authenticator_reset.connect(on_added, dispatch_uid="accounts.step_reset")
    signals.authentication_failed.connect(on_failed, dispatch_uid="accounts.step_failed")


def on_added(user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    """An app, a passkey or new recovery codes."""
    _record(user, "account.second_step_added", authenticator)


def on_removed(user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    """The person removed one of their own."""
    _record(user, "account.second_step_removed", authenticator)


def on_failed(user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    """The password was right and the code wrong."""
    _record(user, "session.second_step_failed", authenticator)


def _record(user: User, action: str, authenticator: Authenticator) -> None:
    detail = {"type": str(authenticator.type)}
    record(
        actor=user,
        study=None,
        action=action,
        object_type="accounts.user",
        object_id=user.public_id,
        detail=detail,
    )
