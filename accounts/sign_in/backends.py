"""Password checks behind the throttle.

`accounts.sign_in.password_check` calls them.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import User
from accounts.requests.limits import TooManyRequests
from accounts.sign_in import throttle
from accounts.sign_in.gate import password_gate
from accounts.sign_in.password_check import Purpose


class ThrottledBackend(ModelBackend):
    """Checks passwords like Django, after spending one of the attempts.

    A hundred guesses sent at once so get no more checks than five sent in turn, and never more of
    them run at once than the gate admits. A success gives the attempts back. Calls without a
    request (commands) are not throttled.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return the user, or None for a wrong name or password.

        Raises PermissionDenied while a limit is reached, TooManyRequests while too many passwords
        are being checked.
        """
        if request is None or username is None:
            return super().authenticate(request, username=username, password=password, **kwargs)
        signing_in = kwargs.get("purpose", Purpose.SIGN_IN) == Purpose.SIGN_IN
        attempt = throttle.spend_attempt(request, username, signing_in=signing_in)
        if not attempt.allowed:
            raise PermissionDenied
        try:
            with password_gate.enter(throttle.client_network(request)):
                user = super().authenticate(request, username=username, password=password, **kwargs)
        except TooManyRequests:
            throttle.give_back(attempt)
            raise
        if user is not None:
            throttle.forgive(attempt)
        return user
