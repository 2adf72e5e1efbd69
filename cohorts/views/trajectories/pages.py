"""Trajectories: saved views, one page of figures, and its tables as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import json_script
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import CASE_READERS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from cohorts.facts.versions import newest_versions
from cohorts.models import ConceptVersion, Trajectory
from cohorts.trajectories.actions import SavingRefused, delete_view, save_view
from cohorts.trajectories.choices import (
    Choice,
    find_dataset,
    saved_choice,
)
from cohorts.trajectories.figures import TABLES, summarise_courses
from cohorts.trajectories.lanes import Order
from cohorts.trajectories.opening import open_figures
from cohorts.values import Source
from ehr.models import Dataset
from timelines.formats.tables.writer import safe_cell

GROUPS = (("", "No groups"), ("unit", "Unit"), ("sex", "Sex"))


@require_GET
@study_role_required(*CASE_READERS)
def trajectories(request: StudyRequest) -> HttpResponse:
    """List the saved views."""
    saved = Trajectory.objects.filter(study=request.study).select_related(
        "dataset", "created_by", "aligned_at__concept"
    )
    admin = user_can_manage_study(request.user, request.study)
    lines = [(one, admin or one.created_by_id == request.user.pk) for one in saved]
    return render(request, "cohorts/trajectories/list.html", {"lines": lines})


@require_GET
@study_role_required(*CASE_READERS)
def trajectory(request: StudyRequest, public_id: str) -> HttpResponse:
    """Open a saved view."""
    saved = get_object_or_404(
        Trajectory.objects.select_related("dataset"), public_id=public_id, study=request.study
    )
    return redirect(f"{reverse('cohorts:trajectory_view')}?{saved_choice(saved).query}")


@require_GET
@study_role_required(*CASE_READERS)
def trajectory_view(request: StudyRequest) -> HttpResponse:
    """Show the figures of the choices in the address."""
    study, choice = request.study, Choice.parse(request.GET)
    versions = newest_versions(study)
    dataset = find_dataset(study, choice)
    context: dict[str, Any] = {
        "choice": choice,
        "dataset": dataset,
        "datasets": Dataset.objects.filter(study=study).order_by("name"),
        "sources": [(s.value, s.words) for s in Source if s is not Source.ROWS],
        "concepts": sorted((v.concept.name, key) for key, v in versions.items()),
        "groups": [
            *GROUPS,
            *sorted((key, f"With or without: {v.concept.name}") for key, v in versions.items()),
        ],
        "orders": [(order.value, order.words) for order in Order],
    }
    if dataset is not None:
        context |= _figures(request, dataset, choice, versions)
    return render(request, "cohorts/trajectories/page.html", context)


@require_GET
@study_role_required(*CASE_READERS)
def trajectory_table(request: StudyRequest, name: str) -> HttpResponse:
    """Return one table of the choices in the address as CSV."""
    choice, versions = Choice.parse(request.GET), newest_versions(request.study)
    dataset = find_dataset(request.study, choice)
    if dataset is None:
        raise Http404
    if name not in TABLES:
        raise Http404
    figures = open_figures(request, dataset, choice, versions, shown=name).figures
    table, out = figures.tables[name], io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.heads)
    for row in table.rows:
        writer.writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in row])
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="trajectory-{name}.csv"'
    return response


@require_POST
@study_role_required(*CASE_READERS)
def trajectory_save(request: StudyRequest) -> HttpResponse:
    """Save the choices in the address under a name."""
    choice = Choice.parse(request.GET)
    dataset = find_dataset(request.study, choice)
    if dataset is None:
        raise Http404
    try:
        made = save_view(
            dataset=dataset,
            name=request.POST.get("name", ""),
            choice=choice,
            versions=newest_versions(request.study),
            by=request.user,
        )
    except SavingRefused as refused:
        messages.error(request, str(refused))
        return redirect(f"{reverse('cohorts:trajectory_view')}?{choice.query}")
    messages.success(request, f"Saved as “{made.name}”.")
    return redirect("cohorts:trajectories")


@require_POST
@study_role_required(*CASE_READERS)
def trajectory_delete(request: StudyRequest, public_id: str) -> HttpResponse:
    """Delete a saved view."""
    saved = get_object_or_404(Trajectory, public_id=public_id, study=request.study)
    delete_view(view=saved, by=request.user)
    return redirect("cohorts:trajectories")


def _figures(
    request: StudyRequest, dataset: Dataset, choice: Choice, versions: Mapping[str, ConceptVersion]
) -> dict[str, Any]:
    """Return the figures over the cases that are open to the person."""
    context = _show_one(request, dataset, choice, versions)
    plots = context["figures"].plots
    if choice.beside is not None:
        other = replace(choice, source=choice.beside, beside=None)
        beside = _show_one(request, dataset, other, versions)
        plots = {**plots, "beside": beside["figures"].plots}
        context |= {"other": beside, "other_choice": other}
    return {**context, "data": json_script(plots, "evaluation-data")}


def _show_one(
    request: StudyRequest, dataset: Dataset, choice: Choice, versions: Mapping[str, ConceptVersion]
) -> dict[str, Any]:
    """Return the figures by the times of `choice.source`, and what is said of them."""
    opened = open_figures(request, dataset, choice, versions)
    return {
        "figures": opened.figures,
        "series": opened.series,
        "changes": opened.changes,
        "courses": summarise_courses(opened.figures.tables["courses"]),
        "without": opened.without,
    }
