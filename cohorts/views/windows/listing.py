"""The list of windows, and one with its versions and results."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Count, Max
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import Role
from accounts.permissions import CASE_READERS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from cohorts.engine.aces.exporting import write_aces
from cohorts.engine.values import WindowError
from cohorts.models import Window, WindowResult
from cohorts.values import Source
from cohorts.windows.actions import archive_window
from cohorts.windows.exchange import codes_of
from cohorts.windows.finding import ACTIVE, describe_version, frozen_concepts, get_window
from cohorts.windows.results import launch_result
from cohorts.windows.stored import read_stored
from cohorts.windows.values import WindowRefused
from ehr.models import Dataset

SOURCES = [(source.value, source.words) for source in Source]
#: Results of a window's page.
MOST_RESULTS = 30


@require_GET
@study_role_required(*CASE_READERS)
def windows(request: StudyRequest) -> HttpResponse:
    """List the windows that are not put away."""
    found = Window.objects.filter(study=request.study, archived_at__isnull=True)
    lines = found.select_related("created_by").annotate(
        number=Max("versions__number"), results=Count("versions__results")
    )
    return render(request, "cohorts/windows/list.html", {"lines": lines})


@require_GET
@study_role_required(*CASE_READERS)
def window(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the criteria in words and as YAML, the versions and the results."""
    found = get_window(request, public_id)
    versions = list(found.versions.select_related("created_by"))
    wanted = request.GET.get("version", "")
    version = next((v for v in versions if str(v.number) == wanted), versions[0])
    results = WindowResult.objects.filter(version__window=found).defer("report")
    shown = list(results.select_related("version", "dataset", "created_by")[:MOST_RESULTS])
    context = {
        "window": found,
        "version": version,
        "versions": versions,
        "words": describe_version(version),
        "concepts": frozen_concepts(version),
        "results": [(r, r.state in ACTIVE, _sources(r)) for r in shown],
        "datasets": Dataset.objects.filter(study=request.study).order_by("name"),
        "sources": SOURCES,
        "may_manage": user_can_manage_study(request.user, request.study),
    }
    return render(request, "cohorts/windows/window.html", context)


def _sources(result: WindowResult) -> str:
    return f"{Source(result.first).words} and {Source(result.second).words}"


@require_POST
@study_role_required(*CASE_READERS)
def window_evaluate(request: StudyRequest, public_id: str) -> HttpResponse:
    """Queue an evaluation of the newest version."""
    found = get_window(request, public_id)
    dataset = get_object_or_404(
        Dataset, study=request.study, public_id=request.POST.get("dataset", "")
    )
    newest = found.versions.first()
    assert newest is not None  # a window is created with its first version
    first, second = request.POST.get("first", ""), request.POST.get("second", "")
    if not {first, second} <= set(Source):
        messages.error(request, "Choose two sources of times.")
        return redirect("cohorts:window", public_id)
    try:
        made = launch_result(
            version=newest,
            dataset=dataset,
            first=Source(first),
            second=Source(second),
            by=request.user,
        )
    except WindowRefused as refused:
        messages.error(request, str(refused))
        return redirect("cohorts:window", public_id)
    return redirect("cohorts:window_result", made.public_id)


@require_POST
@study_role_required(Role.ADMIN)
def window_archive(request: StudyRequest, public_id: str) -> HttpResponse:
    """Put a window away."""
    archive_window(window=get_window(request, public_id), by=request.user)
    messages.success(request, "The window was put away. Its results stay.")
    return redirect("cohorts:windows")


@require_GET
@study_role_required(*CASE_READERS)
def window_aces(request: StudyRequest, public_id: str) -> HttpResponse:
    """Return the newest version as a task of ACES, or say why it cannot be one."""
    found = get_window(request, public_id)
    version = found.versions.first()
    assert version is not None
    try:
        text = write_aces(read_stored(version).criteria, codes=codes_of(request.study))
    except WindowError as error:
        messages.error(request, f"ACES cannot say this. {error}")
        return redirect("cohorts:window", public_id)
    response = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="task.yaml"'
    return response
