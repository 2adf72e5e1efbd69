"""Exports of cohorts and runs: the list, the form and the download."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.scoping import StudyRequest, study_role_required
from jobs.models import JobState
from jobs.states import FINAL, InvalidTransition
from timelines.access.asking import ask_first
from timelines.access.closed import closed_encounters
from timelines.exports import actions
from timelines.exports.access import (
    check_export_is_open,
    closed_exports,
    find_export,
    list_case_ids,
    own_exports,
)
from timelines.exports.formats import EXPORT_FORMATS
from timelines.exports.forms import ExportForm
from timelines.exports.serving import send_archive
from timelines.models import Export

PER_PAGE = 30
_ACTIONS: dict[str, Any] = {
    "pause": actions.pause_export,
    "resume": actions.resume_export,
    "cancel": actions.cancel_export,
    "retry": actions.retry_export,
    "delete": actions.delete_export,
}


@dataclass(frozen=True, slots=True)
class ExportLine:
    """One export of the list.

    A closed one shows nothing that depends on its cases.
    """

    export: Export
    format: str
    closed: bool

    @property
    def paused(self) -> bool:
        return self.export.paused_at is not None and self.export.state not in FINAL

    @property
    def active(self) -> bool:
        """Whether its state changes without a person."""
        return self.export.state not in FINAL and not self.paused

    @property
    def downloadable(self) -> bool:
        return not self.closed and actions.may_download(self.export)

    @property
    def expires_at(self) -> object:
        """When its file is deleted; None if there is none."""
        if not actions.may_download(self.export) or self.export.finished_at is None:
            return None
        return self.export.finished_at + timedelta(days=settings.EXPORT_DAYS)

    @property
    def actions(self) -> list[tuple[str, str]]:
        """Return (name, label) of what a person can do."""
        if self.export.state in (JobState.FAILED, JobState.CANCELLED):
            return [("retry", "Retry"), *self._deletion]
        if self.export.state in FINAL:
            return self._deletion
        paused = ("resume", "Resume") if self.paused else ("pause", "Pause")
        return [paused, ("cancel", "Cancel")]

    @property
    def _deletion(self) -> list[tuple[str, str]]:
        return [("delete", "Delete")] if self.export.deleted_at is None else []


@require_GET
@study_role_required(Role.ADMIN)
def exports(request: StudyRequest) -> HttpResponse:
    """List the person's exports, newest first.

    htmx gets the table, which polls while one of them is under way.
    """
    found = own_exports(request).filter(study=request.study)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    closed = closed_exports(request.user, request.study, page.object_list)
    lines = [
        ExportLine(export, EXPORT_FORMATS[export.format].label, export.pk in closed)
        for export in page.object_list
    ]
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
    if action not in _ACTIONS:
        raise Http404
    try:
        _ACTIONS[action](export=export, by=request.user)
    except (InvalidTransition, actions.ExportRefused):
        messages.warning(request, "The export had changed meanwhile. Nothing was changed.")
    return redirect("timelines:exports")


@require_GET
@study_role_required(Role.ADMIN)
def export_download(request: StudyRequest, public_id: str) -> FileResponse:
    """Send the file. Every case in it counts as seen by the person."""
    export = find_export(request, public_id)
    check_export_is_open(request.user, export)
    if not actions.may_download(export):
        raise Http404
    ask_first(request.user, list_case_ids(export))
    try:
        response = send_archive(request, export)
    except FileNotFoundError:
        raise Http404 from None
    actions.record_download(export=export, by=request.user)
    return response
