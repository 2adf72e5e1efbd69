"""Log one line a request: method, route, status and time.

The route is the pattern, not the address: addresses may be mistyped text.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

logger = logging.getLogger(__name__)


class RequestLogMiddleware:
    """Times the request from the outermost middleware inwards."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request and log it."""
        started = time.perf_counter()
        response = self._get_response(request)
        match = request.resolver_match
        fields = {
            "method": request.method,
            "route": match.route if match else None,
            "status": response.status_code,
            "ms": round((time.perf_counter() - started) * 1000, 1),
        }
        logger.info("request", extra=fields)
        return response
