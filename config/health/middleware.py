"""Answer probes and monitoring before anything asks for a person.

They come from load balancers and monitoring by the address of the machine, over plain HTTP inside
the network, and must not be redirected. Their answers have no text of a note, a row or a person.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve

#: Exactly these addresses.
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})


class ProbeMiddleware:
    """Calls the views of the probes directly."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a probe, or pass the request on."""
        if request.path_info not in PROBES:
            return self._get_response(request)
        match = resolve(request.path_info)
        request.resolver_match = match
        response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        response["Cache-Control"] = "no-store"
        response["X-Content-Type-Options"] = "nosniff"
        return response
