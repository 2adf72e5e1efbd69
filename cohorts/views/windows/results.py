"""One result: progress, then the table, the members and their evidence."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.engine.values import WindowError
from cohorts.exposing import expose
from cohorts.models import WindowResult
from cohorts.values import Source
from cohorts.windows.counting import (
    changed_since,
    choose_members,
    count_given_up,
    count_table,
    count_yes,
    find_before,
    open_members,
)
from cohorts.windows.files import send_members
from cohorts.windows.finding import ACTIVE, get_result
from cohorts.windows.lines import make_lines
from cohorts.windows.results import update_result
from cohorts.windows.summaries import find_changes
from cohorts.windows.values import WindowRefused
from jobs.actions import cancel, retry
from jobs.models import JobState
from jobs.states import InvalidTransition
from timelines.access.closed import closed_encounters

PAGE_SIZE = 25


@require_GET
@study_role_required(*CASE_READERS)
def window_result(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show a result; `show` lists a cell of the table, or what changed.

    htmx gets the progress, which polls.
    """
    found = get_result(request, public_id)
    context: dict[str, Any] = {
        "result": found,
        "window": found.version.window,
        "active": found.state in ACTIVE,
        "first": Source(found.first).words,
        "second": Source(found.second).words,
    }
    if request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        response = render(request, "cohorts/windows/_progress.html", context)
        if not context["active"]:
            response["HX-Refresh"] = "true"
    else:
        if found.state == JobState.SUCCEEDED:
            context |= _figures(request, found)
        response = render(request, "cohorts/windows/result.html", context)
    response["Vary"] = "HX-Request"
    return response


def _figures(request: StudyRequest, found: WindowResult) -> dict[str, Any]:
    """Return the table and a page of members, of the cases that are open to the person."""
    closed = closed_encounters(request.user)
    members = open_members(found, closed)
    before, shown = find_before(found), request.GET.get("show", "")
    chosen = choose_members(members, shown, before)
    page = Paginator(chosen, PAGE_SIZE).get_page(request.GET.get("page"))
    lines = make_lines(found, before, list(page.object_list))
    expose(request, [line.encounter.public_id for line in lines])
    heads, rows = count_table(members)
    return {
        "heads": heads,
        "rows": rows,
        "yes": count_yes(members),
        "before": before,
        "since": changed_since(members, before).count() if before else 0,
        "show": shown,
        "page": page,
        "lines": lines,
        "changes": find_changes(found, closed),
        "given_up": count_given_up(found, closed),
    }


@require_POST
@study_role_required(*CASE_READERS)
def window_result_update(request: StudyRequest, public_id: str) -> HttpResponse:
    """Evaluate again what is current."""
    found = get_result(request, public_id)
    try:
        made = update_result(result=found, by=request.user)
    except (WindowError, WindowRefused) as refused:
        messages.error(request, str(refused))
        return redirect("cohorts:window_result", public_id)
    return redirect("cohorts:window_result", made.public_id)


@require_POST
@study_role_required(*CASE_READERS)
def window_result_retry(request: StudyRequest, public_id: str) -> HttpResponse:
    """Queue a failed or cancelled evaluation again."""
    return _steer(request, public_id, retry)


@require_POST
@study_role_required(*CASE_READERS)
def window_result_cancel(request: StudyRequest, public_id: str) -> HttpResponse:
    """Cancel an evaluation."""
    return _steer(request, public_id, cancel)


def _steer(request: StudyRequest, public_id: str, act: Any) -> HttpResponse:
    found = get_result(request, public_id)
    try:
        act(job=found, by=request.user, study=request.study)
    except InvalidTransition:
        messages.warning(request, "It had already ended or started. Nothing was changed.")
    return redirect("cohorts:window_result", public_id)


@require_GET
@study_role_required(*CASE_READERS)
def window_result_csv(request: StudyRequest, public_id: str) -> StreamingHttpResponse:
    """Return the members of the open cases as CSV; `show` as on the page."""
    found = get_result(request, public_id)
    return send_members(request, found, request.GET.get("show", ""))
