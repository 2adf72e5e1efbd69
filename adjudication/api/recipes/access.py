"""Recipes of a person who manages the study, for views of the API."""

from __future__ import annotations

from django.db.models import Max, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    find_requested_studies,
    require_person,
    require_studies,
)
from accounts.models import Study
from adjudication.access.recipes import are_recipes_open, check_study_is_open
from adjudication.models import PlantedRecall, Recipe, RecipeLaunch


def list_open_studies(request: Request) -> list[Study]:
    """Return the person's requested studies whose recipes they may open.

    Raises NotAllowed, Http404.
    """
    person = require_person(request)
    return [s for s in find_requested_studies(request, ADMINS) if are_recipes_open(person, s)]


def find_recipe(request: Request, public_id: str) -> Recipe:
    """Return a recipe with its `newest` version. Raises Http404, NotAllowed."""
    rows = Recipe.objects.filter(study__in=require_studies(request, ADMINS))
    found = get_object_or_404(annotate_newest(rows), public_id=public_id)
    check_study_is_open(require_person(request), found.study)
    return found


def annotate_newest(recipes: QuerySet[Recipe]) -> QuerySet[Recipe]:
    """Add the number of each recipe's newest version."""
    return recipes.select_related("study").annotate(newest=Max("versions__number"))


def find_launch(request: Request, public_id: str) -> RecipeLaunch:
    """Return a launch. Raises Http404, NotAllowed."""
    rows = RecipeLaunch.objects.filter(study__in=require_studies(request, ADMINS))
    joined = rows.select_related("version__recipe", "study", "created_by")
    found = get_object_or_404(joined, public_id=public_id)
    check_study_is_open(require_person(request), found.study)
    return found


def find_recall(request: Request, public_id: str) -> PlantedRecall:
    """Return a measurement of planted differences. Raises Http404, NotAllowed."""
    rows = PlantedRecall.objects.filter(study__in=require_studies(request, ADMINS))
    found = get_object_or_404(rows.select_related("study"), public_id=public_id)
    check_study_is_open(require_person(request), found.study)
    return found
