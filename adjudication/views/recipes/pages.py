"""Recipes for study admins: list, editor, one recipe, and a launch."""

from __future__ import annotations

from typing import Any

import yaml
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.recipes import check_recipes_are_open, find_launch, find_recipe
from adjudication.models import PlantedRecall, Recipe, RecipeLaunch
from adjudication.planting.plain import tally_from_plain
from adjudication.planting.recall import report, report_of_kinds
from adjudication.recipes import actions
from adjudication.recipes.building import PARTS, change, list_head, list_parts, read_form, to_yaml
from adjudication.recipes.lines import list_lines
from adjudication.recipes.reading import RecipeInvalid, read_recipe
from adjudication.recipes.starters import load_starter
from ehr.models import Dataset
from timelines.runs.page.controls import RunAction

PER_PAGE = 30
NEWEST_FIRST = ("-created_at", "-pk")
CANCEL_WORDS = (
    "No further step is started. What is under way continues, and what is done stays stored."
)
STEPS = {"cancel": actions.cancel_launch, "retry": actions.retry_launch}


@require_GET
@study_role_required(Role.ADMIN)
def recipe_list(request: StudyRequest) -> HttpResponse:
    """List the study's recipes and its launches, newest first."""
    check_recipes_are_open(request)
    launches = RecipeLaunch.objects.filter(study=request.study).annotate(size=Count("steps"))
    launches = launches.select_related("version__recipe", "created_by").order_by(*NEWEST_FIRST)
    context = {
        "recipes": Recipe.objects.filter(study=request.study).prefetch_related("versions"),
        "page": Paginator(launches, PER_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "adjudication/recipes/list.html", context)


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def recipe_new(request: StudyRequest) -> HttpResponse:
    """Write a recipe, beginning with that of the published design."""
    check_recipes_are_open(request)
    names = list(Dataset.objects.filter(study=request.study).values_list("name", flat=True)[:1])
    return _edit(request, None, load_starter(names))


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def recipe_edit(request: StudyRequest, public_id: str) -> HttpResponse:
    """Change a recipe and save it as a new version."""
    found = find_recipe(request, public_id)
    return _edit(request, found, found.versions.all()[0].text)


def _edit(request: StudyRequest, found: Recipe | None, start: str) -> HttpResponse:
    """Answer a step of the editor.

    "save" stores a version; "form" reads the YAML into the form.
    """
    step = request.POST.get("step", "")
    text = start
    faults: tuple[str, ...] = ()
    if request.method == "POST":
        text = request.POST.get("yaml", "")
        if request.POST.get("shown") == "form" and step != "form":
            text = to_yaml(change(read_form(request.POST), step))
    try:
        read_recipe(text)
        if step == "save":
            version = actions.save_recipe(study=request.study, text=text, by=request.user)
            messages.success(request, f"Saved as version {version.number}.")
            return redirect("adjudication:recipe", version.recipe.public_id)
    except RecipeInvalid as invalid:
        faults = invalid.faults
    plain = _plain(text)
    context: dict[str, Any] = {
        "recipe": found,
        "yaml": text,
        "faults": faults,
        "head": list_head(plain),
        "parts": list(list_parts(plain)),
        "kinds": [(kind, word) for kind, (_, word) in PARTS.items()],
        "shown": request.POST.get("shown", "form") if step != "form" else "form",
    }
    return render(request, "adjudication/recipes/edit.html", context)


def _plain(text: str) -> dict[str, Any]:
    """Return what the text says, {} for one that is no YAML."""
    try:
        plain = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return plain if isinstance(plain, dict) else {}


@require_GET
@study_role_required(Role.ADMIN)
def recipe(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show a recipe's newest version, its versions and launches."""
    found = find_recipe(request, public_id)
    versions = list(found.versions.select_related("created_by"))
    wanted = request.GET.get("version", "")
    shown = next((v for v in versions if str(v.number) == wanted), versions[0])
    launches = RecipeLaunch.objects.filter(version__recipe=found).annotate(size=Count("steps"))
    context = {
        "recipe": found,
        "versions": versions,
        "shown": shown,
        "launches": launches.select_related("version__recipe", "created_by").order_by(
            *NEWEST_FIRST
        ),
    }
    return render(request, "adjudication/recipes/recipe.html", context)


@require_GET
@study_role_required(Role.ADMIN)
def recipe_download(request: StudyRequest, public_id: str, number: int) -> HttpResponse:
    """Send a version's text as a YAML file."""
    found = find_recipe(request, public_id)
    version = get_object_or_404(found.versions, number=number)
    response = HttpResponse(version.text, content_type="application/yaml; charset=utf-8")
    name = f"recipe-{found.public_id}-{number}.yaml"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@study_role_required(Role.ADMIN)
def recipe_launch(request: StudyRequest, public_id: str) -> HttpResponse:
    """Launch the version that the form names."""
    found = find_recipe(request, public_id)
    number = request.POST.get("version", "")
    version = found.versions.filter(number=int(number) if number.isdecimal() else 0).first()
    if version is None:
        raise Http404
    try:
        launch = actions.launch_recipe(version=version, by=request.user)
    except actions.RecipeRefused as refused:
        messages.error(request, str(refused))
        return redirect("adjudication:recipe", public_id)
    return redirect("adjudication:launch", launch.public_id)


@require_GET
@study_role_required(Role.ADMIN)
def launch(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the steps of a launch; htmx polls while it is under way."""
    found = find_launch(request, public_id)
    under_way = found.state == RecipeLaunch.State.RUNNING
    buttons = (
        [RunAction("cancel", "Cancel")]
        if under_way
        else [RunAction("retry", "Do failed steps again")]
    )
    if found.state == RecipeLaunch.State.DONE:
        buttons = []
    context = {
        "launch": found,
        "run": found,
        "lines": list_lines(found),
        "under_way": under_way,
        "cancel_words": CANCEL_WORDS,
        "actions": buttons,
    }
    part = "adjudication/recipes/_live.html"
    name = part if request.htmx else "adjudication/recipes/launch.html"  # type: ignore[attr-defined]
    return render(request, name, context)


@require_POST
@study_role_required(Role.ADMIN)
def launch_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Cancel a launch, or do again what failed."""
    found = find_launch(request, public_id)
    if action not in STEPS:
        raise Http404
    try:
        STEPS[action](launch=found, by=request.user)
    except actions.RecipeRefused as refused:
        messages.error(request, str(refused))
    return redirect("adjudication:launch", public_id)


@require_GET
@study_role_required(Role.ADMIN)
def planted_recall(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show a judge's recall and precision on planted differences."""
    check_recipes_are_open(request)
    found = get_object_or_404(PlantedRecall, study=request.study, public_id=public_id)
    tables = []
    if found.report is not None:
        counts = tally_from_plain(found.report["counts"])
        tables = [("Differences", report(counts)), ("Kinds of changes", report_of_kinds(counts))]
    return render(request, "adjudication/recipes/planted.html", {"recall": found, "tables": tables})
