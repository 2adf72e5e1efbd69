"""Refuse what comes too often, with the seconds to wait."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render

from accounts.requests.guard import API

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class TooManyRequests(Exception):
    """There were too many; `wait` is in seconds."""

    log_safe = True

    def __init__(self, wait: int) -> None:
        super().__init__(f"Too many requests. Try again in {wait} s.")
        self.wait = wait


class TooManyRequestsMiddleware:
    """Answers TooManyRequests of a view with 429."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the answer to too many requests, None for other errors."""
        return refuse_too_many(request, error.wait) if isinstance(error, TooManyRequests) else None


def refuse_too_many(request: HttpRequest, wait: int) -> HttpResponse:
    """Answer in the form that the caller reads."""
    sentence = str(TooManyRequests(wait))
    headers = {"Retry-After": str(wait)}
    if request.path_info.startswith(API):
        body = {"code": "throttled", "detail": sentence, "retry_after": wait}
        return JsonResponse(body, status=429, headers=headers)
    if "application/json" in (request.content_type, request.headers.get("Accept", "")):
        return JsonResponse({"message": sentence}, status=429, headers=headers)
    response = render(None, "429.html", {"wait": wait}, status=429)
    response["Retry-After"] = headers["Retry-After"]
    return response
