"""Find windows and results for a person: of their active study only."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from accounts.scoping import StudyRequest
from cohorts.engine.values import WindowError
from cohorts.engine.words import describe_window
from cohorts.models import ConceptVersion, Window, WindowResult, WindowVersion
from cohorts.windows.stored import describe_renamed, read_stored
from jobs.models import JobState

ACTIVE = (JobState.BLOCKED, JobState.QUEUED, JobState.RUNNING)


def get_window(request: StudyRequest, public_id: str) -> Window:
    """Return a window of the active study. Raises Http404."""
    return get_object_or_404(Window, study=request.study, public_id=public_id)


def get_result(request: StudyRequest, public_id: str) -> WindowResult:
    """Return a result of the active study. Raises Http404."""
    results = WindowResult.objects.select_related("version__window__study", "dataset", "created_by")
    return get_object_or_404(results, version__window__study=request.study, public_id=public_id)


def frozen_concepts(version: WindowVersion) -> list[ConceptVersion]:
    """Return the versions of concepts that a window's version has, by name."""
    return list(version.concepts.select_related("concept").order_by("concept__name"))


def describe_version(version: WindowVersion) -> str:
    """Return the criteria in words; the reason if they cannot be read any more."""
    try:
        stored = read_stored(version)
    except WindowError as error:
        return str(error)
    words = describe_window(stored.criteria)
    return "\n".join([words, *describe_renamed(stored.renamed)])
