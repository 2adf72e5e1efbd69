"""The page that asks before a case is opened, and its answer.

It works without scripts. Partials and programs get a refusal with the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from accounts.models import Role
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from adjudication.access.asking import accept_exposure
from ehr.models import Encounter
from timelines.access.asking import AskFirst


class AskFirstMiddleware:
    """Answer AskFirst with the question if a browser opens a page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Pass the request on."""
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the question, or None for the plain refusal."""
        if not isinstance(error, AskFirst) or not _opens_page(request):
            return None
        context = {
            "question": error.question,
            "next": request.get_full_path() if request.method == "GET" else request.path,
            "back": _find_way_back(request),
        }
        return render(
            request, "adjudication/review/ask_first.html", context, status=HTTPStatus.FORBIDDEN
        )


@require_POST
@study_role_required()
def open_anyway(request: StudyRequest) -> HttpResponse:
    """Store that the person opens the cases `case`, and go on to `next`."""
    ids = set(request.POST.getlist("case"))
    cases = filter_by_role(Encounter.objects.all(), request.user, "dataset__study", roles=Role)
    if not ids or cases.filter(public_id__in=ids).count() != len(ids):
        raise Http404
    accept_exposure(by=request.user, case_ids=ids)
    target = request.POST.get("next", "")
    return redirect(target if _is_ours(target) else reverse("home"))


def _opens_page(request: HttpRequest) -> bool:
    """Return whether the answer is shown as a page, not fetched by a script."""
    fetched = request.headers.get("Sec-Fetch-Mode", "navigate") != "navigate"
    return not fetched and not request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware


def _find_way_back(request: HttpRequest) -> str:
    """Return the page that the person came from, else the home page."""
    came = urlsplit(request.headers.get("Referer", ""))
    path = f"{came.path}?{came.query}" if came.query else came.path
    same_page = came.path == request.path
    return path if came.netloc == request.get_host() and _is_ours(path) and not same_page else "/"


def _is_ours(path: str) -> bool:
    return path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
