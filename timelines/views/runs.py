"""Runs: the list, the launch form, and the page that follows one."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.permissions import CASE_READERS, check_user_can_manage_study, user_can_manage_study
from accounts.scoping import StudyRequest, scoped, study_role_required
from timelines import actions
from timelines.case_state import CaseState
from timelines.forms import LaunchForm
from timelines.models import Run, Stage
from timelines.run_progress import PAGE_SIZE, RunTotals, case_lines, state_of_run, totals, waiting_warning

RUNS_PER_PAGE = 30


@dataclass(frozen=True, slots=True)
class RunLine:
    run: Run
    state: CaseState
    totals: RunTotals


@dataclass(frozen=True, slots=True)
class RunAction:
    """A button; `why_not` says why it is off."""

    name: str
    label: str
    why_not: str = ""


@require_GET
@study_role_required(*CASE_READERS)
def runs(request: StudyRequest) -> HttpResponse:
    """All runs of the study, newest first."""
    page = Paginator(Run.objects.filter(study=request.study).select_related("dataset"), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    lines = [RunLine(run, state_of_run(run, counts), counts) for run in page.object_list for counts in (totals(run),)]
    context = {"page": page, "lines": lines, "may_launch": user_can_manage_study(request.user, request.study)}
    return render(request, "timelines/runs.html", context)


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def run_new(request: StudyRequest) -> HttpResponse:
    """Choose cohort, backbone and variant, and launch."""
    form = LaunchForm(request.POST or None, study=request.study)
    if request.method == "POST" and form.is_valid():
        try:
            started = actions.start_run(by=request.user, **form.launch_arguments())
        except actions.RunRefused as refused:
            form.add_error(None, f"The run was not started: {refused}.")
        else:
            messages.success(request, f"The run over {started.cases.count()} cases has started.")
            return redirect("timelines:run", started.public_id)
    return render(request, "timelines/run_new.html", {"form": form})


@require_GET
@study_role_required(*CASE_READERS)
def run(request: StudyRequest, public_id: str) -> HttpResponse:
    """One run: cases × stages. htmx gets the part that changes."""
    found = _run(request, public_id)
    page = Paginator(found.cases.select_related("encounter").order_by("encounter__case_id"), PAGE_SIZE).get_page(request.GET.get("page"))
    counts = totals(found)
    state = state_of_run(found, counts)
    context = {
        "run": found,
        "page": page,
        "totals": counts,
        "state": state,
        "lines": case_lines(list(page.object_list)),
        "stage_labels": [stage.label for stage in Stage],
        "may_launch": user_can_manage_study(request.user, found.study),
        "actions": _actions(found, counts),
        "queue_warning": waiting_warning(found),
        "config_items": sorted(found.config.items()),
        "package_items": sorted({**found.tools, **found.package_versions}.items()),
    }
    partial = bool(request.htmx)  # type: ignore[attr-defined]  # set by django-htmx's middleware
    response = render(request, "timelines/_run_live.html" if partial else "timelines/run.html", context)
    response["Vary"] = "HX-Request"
    return response


@require_POST
@study_role_required(Role.ADMIN)
def run_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Pause, resume, cancel or retry what failed."""
    found = _run(request, public_id)
    check_user_can_manage_study(request.user, found.study)
    act = {
        "pause": actions.pause_run,
        "resume": actions.resume_run,
        "cancel": actions.cancel_run,
        "retry": actions.retry_failed,
    }.get(action)
    if act is None:
        raise Http404
    act(run=found, by=request.user)
    return redirect("timelines:run", found.public_id)


def _run(request: StudyRequest, public_id: str) -> Run:
    return get_object_or_404(scoped(Run.objects.select_related("dataset", "study", "created_by"), request.user), public_id=public_id)


def _actions(run: Run, counts: RunTotals) -> list[RunAction]:
    over = "" if counts.finished < counts.total else "Every stage of this run has ended."
    paused = run.paused_at is not None
    nothing_failed = "" if counts.retryable else "No stage has failed or was cancelled."
    return [
        RunAction("resume", "Resume", over) if paused else RunAction("pause", "Pause", over),
        RunAction("cancel", "Cancel", over),
        RunAction("retry", "Retry failed", nothing_failed),
    ]
