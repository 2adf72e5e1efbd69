"""Redirects people who must have a second step to set it up first."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse

from accounts.requests.middleware import GetResponse
from accounts.second_step.policy import NOBODY, lacks_second_step

#: The session has it once it was found that nothing is lacking.
_FOUND = "second_step_found"


class SecondStepMiddleware:
    """Redirects pages, and refuses the API with 403, while a step is lacking."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let the person through who has one, needs none, or sets it up."""
        user = request.user
        if (
            settings.SECOND_STEP == NOBODY
            or not user.is_authenticated
            or _is_allowed(request.path)
            or request.session.get(_FOUND) == settings.SECOND_STEP
        ):
            return self._get_response(request)
        if not lacks_second_step(user):
            # a new role or a removed step counts from the next session on
            request.session[_FOUND] = settings.SECOND_STEP
            return self._get_response(request)
        if request.path.startswith("/api/"):
            sentence = "Set up a second step on the sign-in pages first."
            return JsonResponse({"code": "not_allowed", "detail": sentence}, status=403)
        return redirect("mfa_index")


def _is_allowed(path: str) -> bool:
    return path in (
        reverse("accounts:password_change"),
        reverse("accounts:sign_out"),
    ) or path.startswith((reverse("mfa_index"), f"/{settings.STATIC_URL.strip('/')}/"))
