"""The figures for a monitoring server, which has to send a token."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from config.metrics.collecting import build_registry


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all figures; 404 without METRICS_TOKEN, 401 with another token."""
    if not settings.METRICS_TOKEN:
        return HttpResponseNotFound("METRICS_TOKEN is not set.\n", content_type="text/plain")
    given = request.headers.get("Authorization", "")
    if not constant_time_compare(given, f"Bearer {settings.METRICS_TOKEN}"):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(generate_latest(build_registry()), content_type=CONTENT_TYPE_PLAIN_0_0_4)
