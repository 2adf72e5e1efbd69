"""Know the browsers in which a person has signed in before.

Such a browser has a signed cookie for that name. Its attempts are counted by themselves: guesses
from elsewhere, even from the same address, cannot lock it out, and it cannot be used for any other
name. The cookie opens nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac

from accounts.ids import new_public_id
from accounts.models import User

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_SALT = "accounts.sign_in.devices"
_SIGNED_IN = "signed_in_as"
DAYS = 180


class KnownDeviceMiddleware:
    """Marks the browser of a person who has just signed in."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, with the cookie after a sign-in."""
        response = self._get_response(request)
        if name := getattr(request, _SIGNED_IN, ""):
            response.set_signed_cookie(
                _cookie_name(name),
                _read_cookie(request, name) or new_public_id(),
                salt=_SALT,
                max_age=DAYS * 24 * 3600,
                secure=settings.HTTPS,
                httponly=True,
                samesite="Lax",
            )
        return response


def mark_device(request: HttpRequest, person: User) -> None:
    """Let the answer to this request mark the browser."""
    setattr(request, _SIGNED_IN, person.get_username())


def find_device(request: HttpRequest, username: str) -> str:
    """Return the id of a browser that knows this name; "" if it does not."""
    found = _read_cookie(request, username)
    return f"device {found}" if found else ""


def _read_cookie(request: HttpRequest, username: str) -> str:
    """Return what a cookie of ours says; "" without one."""
    found = request.get_signed_cookie(
        _cookie_name(username), default="", salt=_SALT, max_age=DAYS * 24 * 3600
    )
    return found or ""


def _cookie_name(username: str) -> str:
    """Return a name from which nobody reads the person's."""
    digest = salted_hmac(_SALT, username.strip().casefold(), algorithm="sha256").hexdigest()
    return f"known_{digest[:16]}"
