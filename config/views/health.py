"""Whether the process answers, and whether the installation can work."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from config.health.checks import checker


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that this process lives; nothing else is asked."""
    return JsonResponse({"ok": True})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Name each check and whether it passed; 503 if one did not."""
    passed = checker.run()
    ready = all(passed.values())
    words = {name: "ok" if good else "not ok" for name, good in passed.items()}
    status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse({"ready": ready, "checks": words}, status=status)
