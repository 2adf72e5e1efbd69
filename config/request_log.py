"""Log and count each request: method, route, status and time.

The route is the pattern, not the address: addresses may be mistyped text.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from jobs.metrics.counters import QUICK, Counter, Histogram

logger = logging.getLogger(__name__)

REQUESTS = Counter(
    "occurrent_requests_total",
    "Answered requests by route and kind of status.",
    ("route", "status"),
)
REQUEST_SECONDS = Histogram(
    "occurrent_request_seconds", "Time until an answer began, by route.", ("route",), QUICK
)


class RequestLogMiddleware:
    """Times the request from the outermost middleware inwards."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, log and count it."""
        started = time.perf_counter()
        response = self._get_response(request)
        seconds = time.perf_counter() - started
        match = request.resolver_match
        fields = {
            "method": request.method,
            "route": match.route if match else None,
            "status": response.status_code,
            "ms": round(seconds * 1000, 1),
        }
        logger.info("request", extra=fields)
        route = match.view_name if match else "unknown"
        REQUESTS.add(route, f"{response.status_code // 100}xx")
        REQUEST_SECONDS.observe(route, seconds=seconds)
        return response
