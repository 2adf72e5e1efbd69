"""Build a window: by clicking, as YAML, or from a task of ACES."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.engine.aces.importing import read_aces
from cohorts.engine.language import Picked
from cohorts.engine.values import WindowError
from cohorts.engine.words import describe_window
from cohorts.engine.writing import write_window
from cohorts.facts.versions import find_concepts
from cohorts.models import Window, WindowVersion
from cohorts.windows.actions import create_window, read_criteria, save_version
from cohorts.windows.building import START, build, names_of_events
from cohorts.windows.exchange import codes_of
from cohorts.windows.filling import fill_form, list_lines
from cohorts.windows.finding import get_window
from cohorts.windows.stored import describe_renamed, read_stored
from cohorts.windows.values import WindowRefused

WHENS = (
    ("", "at any time"),
    ("within", "within hours"),
    ("before", "before"),
    ("after", "after"),
    ("between", "between two"),
    ("during", "during two"),
)
FACTS = (
    ("age", "age in years"),
    ("length", "length in hours"),
    ("sex", "sex"),
    ("unit", "unit"),
    ("disposition", "disposition"),
)


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def window_new(request: StudyRequest) -> HttpResponse:
    """Build a window and save it."""
    return _edit(request, None, START)


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def window_edit(request: StudyRequest, public_id: str) -> HttpResponse:
    """Change the criteria and save them as a new version."""
    found = get_window(request, public_id)
    newest = found.versions.first()
    return _edit(request, found, _start_with(request, newest) if newest else START)


def _start_with(request: StudyRequest, version: WindowVersion) -> str:
    """Return the YAML of a version, with the names that its concepts have now."""
    try:
        stored = read_stored(version)
    except WindowError:
        return version.yaml
    if request.method == "GET":
        for sentence in describe_renamed(stored.renamed):
            messages.info(request, sentence)
    return write_window(stored.criteria)


def _edit(request: StudyRequest, found: Window | None, start: str) -> HttpResponse:
    """Answer a step of the form; "save" stores the criteria."""
    text, step = request.POST.get("yaml", start), request.POST.get("step", "")
    error, fields = "", dict[str, str]()
    try:
        if step == "save":
            return _save(request, found, text)
        if step == "aces":
            text = _import(request)
        elif step.startswith("open-"):
            fields = fill_form(read_criteria(request.study, text), step.removeprefix("open-"))
        elif step not in ("", "show"):
            text = _step(request, text, step)
    except (WindowError, WindowRefused) as refused:
        error, fields = str(refused), request.POST.dict()
    return render(
        request,
        "cohorts/windows/edit.html",
        {"step": step, **_context(request, found, text, error), "fields": fields},
    )


def _step(request: StudyRequest, text: str, step: str) -> str:
    built = build(read_criteria(request.study, text), step, request.POST.dict())
    read_criteria(request.study, built)
    return built


def _save(request: StudyRequest, found: Window | None, text: str) -> HttpResponse:
    if found is None:
        found = create_window(study=request.study, yaml=text, by=request.user)
        messages.success(request, "The window was saved.")
    else:
        number = save_version(window=found, yaml=text, by=request.user).number
        messages.success(request, f"Version {number} is current.")
    return redirect("cohorts:window", found.public_id)


def _import(request: StudyRequest) -> str:
    name = request.POST.get("aces_name", "").strip() or "Task of ACES"
    imported = read_aces(request.POST.get("aces", ""), codes=codes_of(request.study), name=name)
    for note in imported.notes:
        messages.warning(request, note)
    return write_window(imported.window)


def _context(request: StudyRequest, found: Window | None, text: str, error: str) -> dict[str, Any]:
    criteria = None
    try:
        criteria = read_criteria(request.study, text)
    except WindowError as unread:
        error = error or str(unread)
    lines = list_lines(criteria) if criteria else []
    names = names_of_events(criteria) if criteria else []
    anchor = criteria.anchor if criteria else ""
    moments = ("anchor", "admission", "discharge")
    return {
        "window": found,
        "name": criteria.name if criteria else "",
        "anchor": anchor.concept if isinstance(anchor, Picked) else anchor,
        "anchor_which": anchor.which if isinstance(anchor, Picked) else 1,
        "yaml": text,
        "error": error,
        "words": describe_window(criteria) if criteria else "",
        "lines": lines,
        "concepts": [concept.name for concept in find_concepts(request.study)],
        "whens": WHENS,
        "references": [*moments, *names],
        "others": ["discharge", "anchor", "admission", *names],
        "groups": [line for line in lines if line.group],
        "facts": FACTS,
        "compared": ("at least", "at most", "is", "is not"),
    }
