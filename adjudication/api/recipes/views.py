"""Recipes and their launches in the API, for study admins.

Closed to a person while a case of the study is closed to them, as the pages are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page, read_number
from adjudication.access.recipes import check_study_is_open
from adjudication.api.recipes import bodies
from adjudication.api.recipes.access import (
    annotate_newest,
    find_launch,
    find_recall,
    find_recipe,
    list_open_studies,
)
from adjudication.models import Recipe, RecipeLaunch, RecipeVersion
from adjudication.planting.plain import tally_from_plain
from adjudication.planting.recall import report, report_of_kinds
from adjudication.recipes import actions
from adjudication.recipes.lines import list_lines
from adjudication.recipes.reading import RecipeInvalid
from timelines.evaluation.tables import Table

recipe_operation = partial(operation, "recipes")
#: The largest number of a version that an address may name.
MOST_VERSIONS = 100_000
_STEPS: Mapping[str, Callable[..., object]] = {
    "cancel": actions.cancel_launch,
    "retry": actions.retry_launch,
}


class Recipes(ApiView):
    @recipe_operation("recipe_list", bodies.RecipePage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the recipes of your studies, by name."""
        rows = Recipe.objects.filter(study__in=list_open_studies(request))
        return load_page(request, annotate_newest(rows).order_by("name", "pk"))

    @recipe_operation(
        "recipe_save",
        bodies.RecipeVersion,
        takes=bodies.SaveRecipe,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request) -> RecipeVersion:
        """Save a text as the next version of the recipe of its name.

        400 lists its faults by line and field. An equal text returns the newest version.
        """
        require_studies(request, ADMINS)
        values = read_body(bodies.SaveRecipe, request)
        study = find_study(request, values["study"])
        check_study_is_open(require_person(request), study)
        try:
            return actions.save_recipe(study=study, text=values["text"], by=require_person(request))
        except RecipeInvalid as invalid:
            raise ValidationError({"text": list(invalid.faults)}) from None


class RecipeOne(ApiView):
    @recipe_operation(
        "recipe",
        bodies.RecipeVersion,
        parameters=[
            OpenApiParameter("version", int, description="Its number; by default the newest.")
        ],
    )
    def get(self, request: Request, public_id: str) -> RecipeVersion:
        """Return one version of a recipe with its text."""
        found = find_recipe(request, public_id)
        return _find_version(found, read_number(request, "version", 0, 1, MOST_VERSIONS) or None)


class RecipeLaunches(ApiView):
    @recipe_operation(
        "recipe_launch",
        bodies.LaunchDetail,
        refuses=(422,),
        takes=bodies.LaunchRecipe,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, public_id: str) -> dict[str, Any]:
        """Launch a version: workers make everything that it names, in order.

        What is there already is used again.
        """
        found = find_recipe(request, public_id)
        version = _find_version(found, read_body(bodies.LaunchRecipe, request)["version"])
        return _describe(actions.launch_recipe(version=version, by=require_person(request)))


class Launches(ApiView):
    @recipe_operation("launch_list", bodies.LaunchPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the launches of your studies, newest first."""
        rows = RecipeLaunch.objects.filter(study__in=list_open_studies(request))
        joined = rows.select_related("version__recipe", "study").order_by("-created_at", "-pk")
        return load_page(request, joined, lambda found: [{"launch": one} for one in found])


class LaunchOne(ApiView):
    @recipe_operation("launch", bodies.LaunchDetail)
    def get(self, request: Request, public_id: str) -> dict[str, Any]:
        """Return a launch with its steps, the cost so far and the time left."""
        return _describe(find_launch(request, public_id))


class LaunchStep(ApiView):
    @recipe_operation(
        "launch_step",
        bodies.LaunchDetail,
        refuses=(422,),
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(_STEPS))],
    )
    def post(self, request: Request, public_id: str, action: str) -> dict[str, Any]:
        """Cancel a launch, or do again what failed or was cancelled."""
        found = find_launch(request, public_id)
        if (step := _STEPS.get(action)) is None:
            raise Http404
        step(launch=found, by=require_person(request))
        return _describe(found)


class PlantedOne(ApiView):
    @recipe_operation("planted_recall", bodies.PlantedRecall)
    def get(self, request: Request, public_id: str) -> dict[str, Any]:
        """Return a judge's recall and precision on planted differences."""
        found = find_recall(request, public_id)
        plain = found.report or {}
        counts = tally_from_plain(plain["counts"]) if plain else None
        made = [("recall", report(counts)), ("kinds", report_of_kinds(counts))] if counts else []
        return {
            "id": found.public_id,
            "study": found.study.public_id,
            "copied": found.source,
            "judge": found.judge_name,
            "state": found.state,
            "cases": plain.get("cases"),
            "unjudged": plain.get("unjudged"),
            "tables": [Table(n, n, rows[0], tuple(rows[1:])).plain() for n, rows in made],
        }


def _find_version(recipe: Recipe, number: int | None) -> RecipeVersion:
    """Return the version of that number, or the newest. Raises Http404."""
    versions = recipe.versions.select_related("recipe__study")
    return get_object_or_404(versions, number=number or recipe.versions.all()[0].number)


def _describe(launch: RecipeLaunch) -> dict[str, Any]:
    return {"launch": launch, "lines": list_lines(launch)}
