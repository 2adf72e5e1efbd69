"""Say why a sign-in at the provider failed, and record it."""

from __future__ import annotations

import logging
from enum import StrEnum

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.audit.trail import record
from accounts.models import User
from accounts.provider.client import find_provider

logger = logging.getLogger(__name__)


class Failure(StrEnum):
    """Why it failed, as the trail has it."""

    CANCELLED = "cancelled"
    UNREACHABLE = "unreachable"
    INVALID = "invalid"
    EXPIRED = "expired"
    INACTIVE = "inactive"
    NO_ACCESS = "no_access"
    OTHER_PERSON = "other_person"
    NOT_FRESH = "not_fresh"
    CONNECTED = "connected"


_SENTENCES = {
    Failure.CANCELLED: "You cancelled the sign-in at {name}.",
    Failure.UNREACHABLE: "{name} does not answer. Try again in a few minutes.",
    Failure.INVALID: "The answer of {name} could not be verified. Try again.",
    Failure.EXPIRED: "This sign-in was started long ago or in another browser. Start again.",
    Failure.INACTIVE: "Your account is deactivated. Ask your study admin.",
    Failure.NO_ACCESS: (
        "{name} knows you, but none of your groups has access here. Ask your study admin for an"
        " invitation."
    ),
    Failure.OTHER_PERSON: "You signed in at {name} as another person. Nothing was confirmed.",
    Failure.CONNECTED: "Your account, or the one at {name}, is already connected. Nothing changed.",
    Failure.NOT_FRESH: (
        "{name} did not ask you to sign in again, so nothing was confirmed. Sign out there and try"
        " again."
    ),
}


def fail(
    request: HttpRequest,
    failure: Failure,
    *,
    account: User | None = None,
    error: BaseException | None = None,
) -> HttpResponse:
    """Record the failure and return its page; log the class of the error.

    A request that answers no sign-in of this session leaves no event: anyone can send it.
    """
    classes = [type(one).__name__ for one in (error, error and error.__cause__) if one]
    logger.warning(
        "a sign-in at the provider failed", extra={"reason": failure.value, "errors": classes}
    )
    if failure not in (Failure.EXPIRED, Failure.UNREACHABLE):
        record(
            actor=account or (request.user if isinstance(request.user, User) else None),
            study=None,
            action="session.sign_in_failed",
            detail={"origin": "provider", "reason": failure.value},
        )
    name = find_provider().name
    context = {"sentence": _SENTENCES[failure].format(name=name), "provider_name": name}
    return render(request, "accounts/provider_failed.html", context, status=403)
