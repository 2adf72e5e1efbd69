"""Reports and leakage checks: the list, and the forms that start them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from django.contrib import messages
from django.core.paginator import Paginator
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.asof.counting import Question
from cohorts.asof.forms import CheckForm, ReportForm
from cohorts.asof.jobs import AsOfRefused, start_check, start_report
from cohorts.asof.opening import find_closed_datasets
from cohorts.models import AsOfReport, LeakageCheck
from cohorts.values import Source
from ehr.models import Dataset

PER_PAGE = 30
J = TypeVar("J", AsOfReport, LeakageCheck)


@require_GET
@study_role_required(*CASE_READERS)
def as_of_reports(request: StudyRequest) -> HttpResponse:
    """List the reports and the checks of the study, newest first."""
    study = request.study
    datasets = list(Dataset.objects.filter(study=study).values_list("pk", flat=True))
    closed = find_closed_datasets(request.user, study, datasets)
    reports = AsOfReport.objects.filter(study=study).exclude(dataset__in=closed).defer("report")
    checks = LeakageCheck.objects.filter(study=study).exclude(dataset__in=closed)
    reports = reports.select_related("dataset", "after__concept")
    page = Paginator(reports, PER_PAGE).get_page(request.GET.get("page"))
    checks = checks.select_related("dataset", "after__concept").defer("report", "features")
    context = {
        "closed": bool(closed),
        "can_start": len(datasets) > len(closed),
        "page": page,
        "reports": _with_words(page.object_list),
        "checks": _with_words(checks[:PER_PAGE]),
    }
    return render(request, "cohorts/asof/list.html", context)


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def as_of_new(request: StudyRequest) -> HttpResponse:
    """Choose the hour and start a report."""
    form = ReportForm(request.POST or None, study=request.study, closed=_closed(request))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            report, *others = [
                start_report(
                    question=Question(
                        data["dataset"], Source(source), data["hours"], data["after"]
                    ),
                    concepts=list(data.get("concepts") or ()),
                    label=data["label"],
                    by=request.user,
                )
                for source in (data["source"], data["beside"])
                if source
            ]
        except AsOfRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, "The report is queued.")
            address = reverse("cohorts:as_of_report", args=[report.public_id])
            return redirect("?".join([address, *(f"with={o.public_id}" for o in others)]))
    return _show_form(request, form, "Report what was known at an hour")


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def leakage_new(request: StudyRequest) -> HttpResponse:
    """Bring features or a rule and start a check."""
    form = CheckForm(request.POST or None, study=request.study, closed=_closed(request))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            check = start_check(
                dataset=data["dataset"],
                source=Source(data["source"]),
                features=data["features"],
                hours=data["hours"],
                after=data["after"],
                label=data["label"],
                by=request.user,
            )
        except AsOfRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, "The check is queued.")
            return redirect("cohorts:leakage_check", check.public_id)
    return _show_form(request, form, "Check for leakage")


def _with_words(jobs: Iterable[J]) -> list[tuple[J, str]]:
    """Return each job with its source in words."""
    return [(job, Source(job.source).words) for job in jobs]


def _closed(request: StudyRequest) -> set[int]:
    datasets = Dataset.objects.filter(study=request.study).values_list("pk", flat=True)
    return find_closed_datasets(request.user, request.study, datasets)


def _show_form(request: StudyRequest, form: Form, title: str) -> HttpResponse:
    return render(request, "cohorts/asof/new.html", {"form": form, "title": title})
