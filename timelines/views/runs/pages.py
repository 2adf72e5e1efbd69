"""Runs: the list, the launch form, and the page that follows one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.permissions import CASE_READERS, STUDY_ADMINS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from accounts.wording import format_count
from ehr.models import Dataset
from llm_runtime.roles import LANGUAGE_ROLES
from timelines.access.authoring import check_user_may_see_timelines
from timelines.access.closed import (
    check_run_is_open,
    closed_encounters,
    has_closed,
    open_runs,
)
from timelines.case_state import CaseState
from timelines.models import CaseRun, Run
from timelines.pipeline.config import describe_preset
from timelines.runs import actions
from timelines.runs.page.controls import Choice, RunAction
from timelines.runs.page.finding import find_case_run, find_case_runs, find_run
from timelines.runs.page.form import LaunchForm
from timelines.runs.page.grid import PAGE_SIZE, CaseLine, case_lines
from timelines.runs.progress import (
    RunTotals,
    cancel_words,
    count_run,
    count_runs,
    find_run_state,
    run_line,
    run_state_words,
    waiting_warning,
)
from timelines.runs.study_timeline.actions import describe_refusal
from timelines.runs.study_timeline.selection import current, run_words, study_timelines

RUNS_PER_PAGE = 30


@require_GET
@study_role_required(*CASE_READERS)
def runs(request: StudyRequest) -> HttpResponse:
    """All runs of the study, newest first."""
    closed = closed_encounters(request.user)
    found = open_runs(Run.objects.filter(study=request.study).select_related("dataset"), closed)
    page = Paginator(found, RUNS_PER_PAGE).get_page(request.GET.get("page"))
    counted = count_runs(list(page.object_list), closed)
    lines = [run_line(run, counted[run.pk]) for run in page.object_list]
    context = {
        "page": page,
        "lines": lines,
        "study_runs": {chosen.run_id for chosen in study_timelines(request.study).values()},
        "may_launch": user_can_manage_study(request.user, request.study),
        "closed": has_closed(Dataset.objects.filter(study=request.study), closed),
    }
    return render(request, "timelines/runs/list.html", context)


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def run_new(request: StudyRequest) -> HttpResponse:
    """Choose cohort, backbone and variants, and launch.

    `dataset` is chosen in advance if the address names it. Several variants need a finished full run as base; all start or none.
    """
    form = LaunchForm(
        request.POST or None,
        study=request.study,
        closed=closed_encounters(request.user),
        initial={"dataset": request.GET.get("dataset")},
    )
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                started = [
                    actions.start_run(by=request.user, **arguments)
                    for arguments in form.launch_arguments()
                ]
        except actions.RunRefused as refused:
            form.add_error(None, f"Nothing was started: {refused}.")
        else:
            count = started[0].preparation.total
            cases = f"{format_count(count, 'case')}"
            if len(started) == 1:
                messages.success(request, f"The run over {cases} has started.")
                return redirect("timelines:run", started[0].public_id)
            messages.success(request, f"{len(started)} runs over {cases} have started.")
            return redirect("timelines:runs")
    return render(request, "timelines/runs/new.html", {"form": form})


@require_GET
@study_role_required(*CASE_READERS)
def run(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one run: cases × stages.

    htmx gets the summary and those lines that changed since (`seen`).
    """
    found = find_run(request.user, public_id)
    closed = closed_encounters(request.user)
    check_run_is_open(found, closed)
    if request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        context = _live(request, found, closed)
        context |= _study_timeline(found, context, closed)
        lines: list[CaseLine] = context["lines"]
        seen = set(request.GET.getlist("seen"))
        context["whole_table"] = {line.case_run_id for line in lines} != {
            sign.partition(".")[0] for sign in seen
        }
        context["changed"] = [line for line in lines if line.sign not in seen]
        response = render(request, "timelines/runs/_poll.html", context)
    else:
        configuration = {
            "config_items": sorted(found.config.items()),
            "preset_words": describe_preset(found.config),
            "tool_items": sorted(
                (name, used)
                for name, used in found.tools.items()
                if name not in found.language_models
            ),
            "model_items": sorted(found.language_models.items(), key=lambda item: _place(item[0])),
            "package_items": sorted(found.package_versions.items()),
            "prompt_items": sorted(found.prompt_hashes.items()),
            "derived": open_runs(found.derived.order_by("source", "pk"), closed),
            "based_on": open_runs(Run.objects.filter(derived=found), closed).first(),
        }
        context = _live(request, found, closed)
        response = render(
            request,
            "timelines/runs/page.html",
            context | _study_timeline(found, context, closed) | configuration,
        )
    response["Vary"] = "HX-Request"
    return response


@require_POST
@study_role_required(Role.ADMIN)
def run_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Pause, resume, cancel or retry what failed."""
    found = find_run(request.user, public_id, roles=STUDY_ADMINS)
    if (act := actions.STEPS.get(action)) is None:
        raise Http404
    act(run=found, by=request.user)
    return redirect("timelines:run", found.public_id)


@require_POST
@study_role_required(Role.ADMIN)
def case_retry(request: StudyRequest, public_id: str, case_run_id: str) -> HttpResponse:
    """Retry one failed or cancelled case."""
    found = find_run(request.user, public_id, roles=STUDY_ADMINS)
    case_run = find_case_run(found, case_run_id)
    check_user_may_see_timelines(request.user, case_run.encounter)
    if not actions.retry_case(case_run=case_run, by=request.user):
        messages.warning(request, actions.NOT_RETRIED)
    return redirect("timelines:run", found.public_id)


def _study_timeline(run: Run, live: dict[str, Any], closed: Collection[int]) -> dict[str, Any]:
    """Return what the run's page says about its cohort's study timeline.

    An admin also sees why the run cannot become it. A run that is closed to the person is not
    named.
    """
    study = current().filter(dataset=run.dataset_id).select_related("run", "chosen_by").first()
    offered = live["may_launch"] and (study is None or study.run_id != run.pk)
    return {
        "study": study,
        "study_words": (
            run_words(study.run)
            if study and open_runs(Run.objects.filter(pk=study.run_id), closed).exists()
            else ""
        ),
        "why_not_study": describe_refusal(run, live["totals"]) if offered else "",
    }


def _place(role: str) -> int:
    """Roles in the order in which the stages ask for them; others after these."""
    return LANGUAGE_ROLES.index(role) if role in LANGUAGE_ROLES else len(LANGUAGE_ROLES)


def _live(request: StudyRequest, run: Run, closed: Collection[int]) -> dict[str, Any]:
    """Return what changes while a run is active.

    Its summary and one page of its cases, without the `closed` encounters.
    """
    counts = count_run(run, closed)
    show = request.GET.get("show", "")
    show = show if show in set(CaseState) else ""
    page, shown = _page(request, run, counts, show, closed)
    return {
        "run": run,
        "page": page,
        "totals": counts,
        "stage_totals": counts.count_stages(),
        "state": find_run_state(run, counts),
        "state_words": run_state_words(run, counts),
        "lines": case_lines(shown),
        "show": show,
        "choices": _choices(counts),
        "may_launch": user_can_manage_study(request.user, run.study),
        "actions": _actions(run, counts),
        "queue_warning": waiting_warning(run, counts),
        "cancel_words": cancel_words(counts),
        "closed": has_closed([run.dataset], closed),
    }


def _page(
    request: StudyRequest, run: Run, counts: RunTotals, show: str, closed: Collection[int]
) -> tuple[Page[int], list[CaseRun]]:
    """Return one page of the run's cases, in order of case id.

    Their number is known from the counts, so that no other case is read.
    """
    cases = find_case_runs(run, show, closed).order_by("pk")
    paginator = Paginator(cases.values_list("pk", flat=True), PAGE_SIZE)
    paginator.count = counts.by_case.get(CaseState(show), 0) if show else counts.cases
    page = paginator.get_page(request.GET.get("page"))
    return page, list(
        CaseRun.objects.filter(pk__in=list(page.object_list))
        .prefetch_related("encounter")
        .order_by("pk")
    )


def _choices(counts: RunTotals) -> list[Choice]:
    return [
        Choice("", "All", counts.cases),
        *(Choice(s.value, s.label, counts.by_case[s]) for s in CaseState if s in counts.by_case),
    ]


def _actions(run: Run, counts: RunTotals) -> list[RunAction]:
    over = "" if counts.active else "No work of this run is in progress."
    paused = run.paused_at is not None
    nothing_failed = "" if counts.retryable else "No stage failed or was cancelled."
    return [
        RunAction("resume", "Resume", over) if paused else RunAction("pause", "Pause", over),
        RunAction("cancel", "Cancel", over),
        RunAction("retry", "Retry", nothing_failed),
    ]
