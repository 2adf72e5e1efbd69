"""Password checks behind the throttle.

`accounts.sign_in.password_check` calls them.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import User
from accounts.sign_in import throttle


class ThrottledBackend(ModelBackend):
    """Checks passwords like Django, after spending one of the pair's attempts.

    A hundred guesses sent at once so get no more checks than five sent in turn. A success gives the
    attempts back. Calls without a request (commands) are not throttled.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return the user, or None for a wrong name or password.

        Raises PermissionDenied while the pair is locked.
        """
        if request is None or username is None:
            return super().authenticate(request, username=username, password=password, **kwargs)
        key = throttle.make_key(request, username)
        if not throttle.spend(key):
            raise PermissionDenied
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is not None:
            throttle.clear(key)
        return user
