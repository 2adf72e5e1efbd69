"""Addresses of study recipes and their launches."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views.recipes import pages

urlpatterns: list[URLPattern] = [
    path("recipes/", pages.recipe_list, name="recipes"),
    path("recipes/new/", pages.recipe_new, name="recipe_new"),
    path("recipes/<public_id:public_id>/", pages.recipe, name="recipe"),
    path("recipes/<public_id:public_id>/edit/", pages.recipe_edit, name="recipe_edit"),
    path("recipes/<public_id:public_id>/launch/", pages.recipe_launch, name="recipe_launch"),
    path(
        "recipes/<public_id:public_id>/versions/<int:number>/",
        pages.recipe_download,
        name="recipe_download",
    ),
    path("launches/<public_id:public_id>/", pages.launch, name="launch"),
    path(
        "launches/<public_id:public_id>/<slug:action>/", pages.launch_action, name="launch_action"
    ),
    path("planted/<public_id:public_id>/", pages.planted_recall, name="planted_recall"),
]
