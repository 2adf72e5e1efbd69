"""Evaluations: the list, the form, and cancelling or repeating one."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.permissions import CASE_READERS, STUDY_ADMINS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Dataset
from jobs.states import InvalidTransition
from timelines.access.closed import closed_encounters, closed_evaluations, has_closed
from timelines.evaluations.actions import STEPS, EvaluationRefused, start_evaluation
from timelines.evaluations.forms import EvaluationForm
from timelines.evaluations.opening import ACTIVE, find_evaluation
from timelines.models import Evaluation

PER_PAGE = 30


@require_GET
@study_role_required(*CASE_READERS)
def evaluations(request: StudyRequest) -> HttpResponse:
    """List all evaluations of the study, newest first.

    htmx gets the table, which polls while one of them is under way.
    """
    found = (
        Evaluation.objects.filter(study=request.study).defer("report").prefetch_related("datasets")
    )
    page = Paginator(
        found.exclude(pk__in=closed_evaluations(request.user, found)), PER_PAGE
    ).get_page(request.GET.get("page"))
    context = {
        "closed": has_closed(
            Dataset.objects.filter(study=request.study), closed_encounters(request.user)
        ),
        "page": page,
        "active": any(e.state in ACTIVE for e in page.object_list),
        "may_start": user_can_manage_study(request.user, request.study),
    }
    htmx = request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware
    response = render(
        request,
        "timelines/evaluations/_list.html" if htmx else "timelines/evaluations/list.html",
        context,
    )
    response["Vary"] = "HX-Request"
    return response


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def evaluation_new(request: StudyRequest) -> HttpResponse:
    """Choose what is compared and start it."""
    form = EvaluationForm(
        request.POST or None, study=request.study, closed=closed_encounters(request.user)
    )
    if request.method == "POST" and form.is_valid():
        try:
            started = start_evaluation(study=request.study, by=request.user, **form.arguments())
        except EvaluationRefused as refused:
            form.add_error(None, f"The evaluation was not started: {refused}.")
        else:
            messages.success(request, "The evaluation is queued.")
            return redirect("timelines:evaluation", started.public_id)
    return render(request, "timelines/evaluations/new.html", {"form": form})


@require_POST
@study_role_required(Role.ADMIN)
def evaluation_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Cancel, or retry what failed or was cancelled."""
    found = find_evaluation(request, public_id, roles=STUDY_ADMINS)
    if (act := STEPS.get(action)) is None:
        raise Http404
    try:
        act(job=found, by=request.user, study=found.study)
    except InvalidTransition:
        messages.warning(
            request, "The evaluation had already ended or started. Nothing was changed."
        )
    return redirect("timelines:evaluation", found.public_id)
