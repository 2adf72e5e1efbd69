"""Exports of cohorts and runs: the list, the form and the download."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.scoping import StudyRequest, study_role_required
from jobs.states import InvalidTransition
from timelines.access.closed import closed_encounters
from timelines.exports import actions
from timelines.exports.access import (
    find_export,
    own_exports,
)
from timelines.exports.downloading import send_export
from timelines.exports.forms import ExportForm
from timelines.exports.lines import describe_exports

PER_PAGE = 30


@require_GET
@study_role_required(Role.ADMIN)
def exports(request: StudyRequest) -> HttpResponse:
    """List the person's exports, newest first.

    htmx gets the table, which polls while one of them is under way.
    """
    found = own_exports(request).filter(study=request.study)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    lines = describe_exports(request.user, page.object_list)
    context = {
        "page": page,
        "lines": lines,
        "active": any(line.active for line in lines),
        "days": settings.EXPORT_DAYS,
    }
    htmx = request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware
    template = "timelines/exports/_list.html" if htmx else "timelines/exports/list.html"
    response = render(request, template, context)
    response["Vary"] = "HX-Request"
    return response


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def export_new(request: StudyRequest) -> HttpResponse:
    """Choose timelines and format, and start the export.

    `dataset` and `run` are chosen in advance if the address names them.
    """
    form = ExportForm(
        request.POST or None,
        study=request.study,
        closed=closed_encounters(request.user),
        initial={k: v for k in ("dataset", "run") if (v := request.GET.get(k))},
    )
    if request.method == "POST" and form.is_valid():
        actions.start_export(by=request.user, **form.cleaned_data)
        messages.success(request, "The export is queued. You can leave this page.")
        return redirect("timelines:exports")
    return render(request, "timelines/exports/new.html", {"form": form})


@require_POST
@study_role_required(Role.ADMIN)
def export_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Pause, resume, cancel, retry or delete."""
    export = find_export(request, public_id)
    if action not in actions.STEPS:
        raise Http404
    try:
        actions.STEPS[action](export=export, by=request.user)
    except (InvalidTransition, actions.ExportRefused):
        messages.warning(request, "The export had changed meanwhile. Nothing was changed.")
    return redirect("timelines:exports")


@require_GET
@study_role_required(Role.ADMIN)
def export_download(request: StudyRequest, public_id: str) -> FileResponse:
    """Send the file. Every case in it counts as seen by the person."""
    return send_export(request, find_export(request, public_id))
