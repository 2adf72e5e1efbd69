"""Limits on sessions, and the forced replacement of one-time passwords."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.requests.guard import TOO_MUCH, UPLOADS, is_large, refuse

GetResponse = Callable[[HttpRequest], HttpResponseBase]

STARTED = "session_started_at"
ACTIVE = "session_active_at"
#: Polling fragments send this header (`hx-headers`), so that an unattended page does not extend its
#: session.
BACKGROUND_HEADER = "X-Background-Poll"


class NoStoreMiddleware:
    """Prevents browsers and proxies from storing any response.

    After the sign-out no note is left on the disk. All responses are covered, not only those to a
    session: programs sign in by a token, which other middleware does not see.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, with the header set."""
        response = self._get_response(request)
        response["Cache-Control"] = "no-store"
        return response


class UploadMiddleware:
    """Refuses files of people who are not signed in, before they are read."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, or refuse it. The API reads the token first."""
        if request.path_info == UPLOADS and is_large(request) and not request.user.is_authenticated:
            return refuse(request, TOO_MUCH, 413)
        return self._get_response(request)


class SessionLimitMiddleware:
    """Signs out idle people, and everyone after a maximum time.

    The limits are SESSION_COOKIE_AGE seconds without a person's request, and SESSION_LONGEST_HOURS
    in any case.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Judge the session by its own two marks, then answer."""
        if request.user.is_authenticated:
            now = time.time()
            started = request.session.setdefault(STARTED, now)
            active = request.session.setdefault(ACTIVE, now)
            if (
                now - active > settings.SESSION_COOKIE_AGE
                or now - started > settings.SESSION_LONGEST_HOURS * 3600
            ):
                logout(request)
            elif BACKGROUND_HEADER not in request.headers:
                request.session[ACTIVE] = now
        return self._get_response(request)


class FirstPasswordMiddleware:
    """Redirects a person with a one-time password to replace it first.

    Every other page has to wait.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, redirect (pages) or refuse with 403 (API)."""
        user = request.user
        if (
            not user.is_authenticated
            or not user.must_change_password
            or self._allowed(request.path)
        ):
            return self._get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse(
                {
                    "code": "not_allowed",
                    "detail": "Replace your one-time password on the sign-in pages first.",
                },
                status=403,
            )
        return redirect("accounts:password_change")

    def _allowed(self, path: str) -> bool:
        return path in (
            reverse("accounts:password_change"),
            reverse("accounts:sign_out"),
        ) or path.startswith(f"/{settings.STATIC_URL.strip('/')}/")
