"""One report or leakage check: progress, figures, and their cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import json_script
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import (
    CASE_READERS,
    STUDY_ADMINS,
    check_user_can_manage_study,
    user_can_manage_study,
)
from accounts.scoping import StudyRequest, study_role_required
from cohorts.asof.cells import count_cell, load_groups, open_cell
from cohorts.asof.exporting import start_as_of_export
from cohorts.asof.figures import Group, make_plot, make_table, sum_lanes
from cohorts.asof.forms import ExportForm
from cohorts.asof.leaks import Leak, describe_leaks, write_leaks
from cohorts.asof.opening import open_job
from cohorts.asof.states import TOO_EARLY, State
from cohorts.exposing import expose
from cohorts.models import AsOfReport, LeakageCheck
from cohorts.values import Source
from jobs.actions import cancel, retry
from jobs.states import InvalidTransition
from timelines.evaluations.opening import ACTIVE
from timelines.evaluations.table_files import table_file

PER_PAGE = 25
#: What a person may do with a report or check, by the last part of its address.
ACTIONS: Mapping[str, Callable[..., None]] = {"cancel": cancel, "retry": retry}


@require_GET
@study_role_required(*CASE_READERS)
def as_of_report(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one report; htmx polls its progress."""
    report = open_job(request, AsOfReport, public_id)
    context = _figures(report) | {"export_form": ExportForm()}
    context |= _beside(request, report)
    return _show(request, report, "report", context)


@require_GET
@study_role_required(*CASE_READERS)
def leakage_check(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one check; htmx polls its progress."""
    check = open_job(request, LeakageCheck, public_id)
    context: dict[str, Any] = {}
    if check.report is not None and check.features:
        leaks = check.report["leaks"]
        page = Paginator(leaks, PER_PAGE).get_page(request.GET.get("page"))
        lines = describe_leaks(list(page.object_list))
        _expose_leaks(request, lines)
        counts = check.report["counts"]
        context = {
            "lines": lines,
            "page": page,
            "features": len(check.features),
            "counts": [(state, counts.get(state.value, 0)) for state in State],
            "unmatched": counts.get("unmatched", 0),
        }
    elif check.report is not None:
        context = _figures(check)
    return _show(request, check, "check", context)


@require_GET
@study_role_required(*CASE_READERS)
def leakage_file(request: StudyRequest, public_id: str) -> HttpResponse:
    """Return the features that leak as CSV."""
    check = open_job(request, LeakageCheck, public_id)
    if check.report is None or not check.features:
        raise Http404
    leaks = describe_leaks(check.report["leaks"])
    _expose_leaks(request, leaks)
    response = HttpResponse(write_leaks(leaks), content_type="text/csv; charset=utf-8")
    name = f"leakage-{check.public_id}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_GET
@study_role_required(*CASE_READERS)
def as_of_table(request: StudyRequest, public_id: str, format: str) -> HttpResponse:
    """Return the figures of a report as a file."""
    report = open_job(request, AsOfReport, public_id)
    if report.report is None:
        raise Http404
    groups = load_groups(report)
    return table_file(make_table(groups), format, f"as-of-{report.public_id}")


@require_POST
@study_role_required(*STUDY_ADMINS)
def as_of_export(request: StudyRequest, public_id: str) -> HttpResponse:
    """Start an export of what was known at the report's hour."""
    report = open_job(request, AsOfReport, public_id, roles=STUDY_ADMINS)
    form = ExportForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The export was not started: choose a format and a policy.")
        return redirect("cohorts:as_of_report", public_id)
    start_as_of_export(
        report=report,
        policy=form.policy(),
        format=form.cleaned_data["format"],
        with_note_text=form.cleaned_data["with_note_text"],
        by=request.user,
    )
    messages.success(request, "The export is queued. Download it here when it is done.")
    return redirect("timelines:exports")


@require_POST
@study_role_required(*CASE_READERS)
def as_of_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Cancel a report, or make it again."""
    report = open_job(request, AsOfReport, public_id)
    _act(request, report, action)
    return redirect("cohorts:as_of_report", public_id)


@require_POST
@study_role_required(*CASE_READERS)
def leakage_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Cancel a check, or make it again."""
    check = open_job(request, LeakageCheck, public_id)
    _act(request, check, action)
    return redirect("cohorts:leakage_check", public_id)


def _act(request: StudyRequest, job: AsOfReport | LeakageCheck, action: str) -> None:
    """Do the action for the person who started the job, or an admin.

    Raises Http404 for an unknown action, NotAllowed for another person.
    """
    if (act := ACTIONS.get(action)) is None:
        raise Http404
    if job.created_by_id != request.user.pk:
        check_user_can_manage_study(request.user, job.study)
    try:
        act(job=job, by=request.user, study=job.study)
    except InvalidTransition:
        messages.warning(request, "It had already ended or started. Nothing was changed.")


@require_GET
@study_role_required(*CASE_READERS)
def as_of_cell(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the occurrences behind a number of a report, with sentence and row."""
    return _show_cell(request, open_job(request, AsOfReport, public_id))


@require_GET
@study_role_required(*CASE_READERS)
def leakage_cell(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the occurrences behind a number of a check by a rule."""
    return _show_cell(request, open_job(request, LeakageCheck, public_id))


def _beside(request: StudyRequest, report: AsOfReport) -> dict[str, Any]:
    """Return the reports of other times to show beside this one, and the chosen one.

    They have the same dataset and hour. Their figures are drawn on one scale.
    """
    if report.report is None:
        return {}
    others = list(
        AsOfReport.objects.filter(
            study=report.study, dataset=report.dataset, hours=report.hours, after=report.after
        )
        .exclude(source=report.source)
        .exclude(report=None)
        .order_by("source", "-created_at")
        .distinct("source")
    )
    wanted = request.GET.get("with", "")
    other = next((one for one in others if one.public_id == wanted), None)
    unfinished = AsOfReport.objects.filter(study=report.study, public_id=wanted, report=None)
    found: dict[str, Any] = {
        "others": [(one.public_id, Source(one.source).words) for one in others],
        "other": other,
        "waits_for": unfinished.first(),
    }
    if other is None:
        return found
    plots = [make_plot(load_groups(one)) for one in (report, other)]
    return found | {
        "beside": _figures(other),
        "other_words": Source(other.source).words,
        "plot": json_script({**plots[0], "beside": plots[1]}, "evaluation-data"),
    }


def _show(
    request: StudyRequest, job: AsOfReport | LeakageCheck, name: str, context: dict[str, Any]
) -> HttpResponse:
    active = job.state in ACTIVE
    view = "cohorts:as_of_report" if name == "report" else "cohorts:leakage_check"
    context |= {
        "job": job,
        "active": active,
        "side": "",
        "source_words": Source(job.source).words,
        "address": reverse(view, args=[job.public_id]),
        "can_export": user_can_manage_study(request.user, job.study),
        "can_act": job.created_by_id == request.user.pk
        or user_can_manage_study(request.user, job.study),
        "act_route": f"cohorts:{'as_of' if name == 'report' else 'leakage'}_action",
    }
    htmx = request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware
    template = "cohorts/asof/_progress.html" if htmx else f"cohorts/asof/{name}.html"
    response = render(request, template, context)
    if htmx and not active:
        response["HX-Refresh"] = "true"
    response["Vary"] = "HX-Request"
    return response


def _figures(job: AsOfReport | LeakageCheck) -> dict[str, Any]:
    if job.report is None:
        return {}
    groups = load_groups(job)
    return {
        "groups": groups,
        "total": sum_lanes(groups),
        "stays": job.report["stays"],
        "without": job.report["without"],
        "states": list(State),
        "formats": (("csv", "CSV"), ("latex", "LaTeX"), ("json", "JSON")),
        "plot": json_script(make_plot(groups), "evaluation-data"),
    }


def _show_cell(request: StudyRequest, job: AsOfReport | LeakageCheck) -> HttpResponse:
    if job.report is None:
        raise Http404
    groups = load_groups(job)
    group, states = _chosen(request, [*groups, sum_lanes(groups)])
    total = count_cell(group, states)
    page: Page[int] = Paginator(range(total), PER_PAGE).get_page(request.GET.get("page"))
    lines = open_cell(
        request, job, group, states, limit=PER_PAGE, offset=max(0, page.start_index() - 1)
    )
    view = "cohorts:as_of_report" if isinstance(job, AsOfReport) else "cohorts:leakage_check"
    context = {
        "job": job,
        "group": group,
        "states": states,
        "total": total,
        "page": page,
        "lines": lines,
        "changed": len(lines) != len(page.object_list),
        "address": reverse(view, args=[job.public_id]),
    }
    return render(request, "cohorts/asof/cell.html", context)


def _chosen(request: StudyRequest, groups: list[Group]) -> tuple[Group, tuple[State, ...]]:
    """Return the group and the states that the address names.

    Raises Http404 for a group that the report lacks.
    """
    kind, key = request.GET.get("kind", "all"), request.GET.get("key", "")
    group = next((one for one in groups if (one.kind, one.key) == (kind, key)), None)
    if group is None:
        raise Http404
    wanted = request.GET.get("state", "")
    return group, (State(wanted),) if wanted in set(State) else TOO_EARLY


def _expose_leaks(request: StudyRequest, leaks: list[Leak]) -> None:
    expose(request, [leak.encounter.public_id for leak in leaks if leak.encounter])
