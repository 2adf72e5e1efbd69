"""Addresses of study recipes and their launches."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views.recipes import pages, report

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
    path("launches/<public_id:public_id>/report/", report.study_report, name="study_report"),
    path(
        "launches/<public_id:public_id>/report/new/",
        report.study_report_new,
        name="study_report_new",
    ),
    path(
        "launches/<public_id:public_id>/report/figures/<int:number>/",
        report.study_report_figure,
        name="study_report_figure",
    ),
    path(
        "launches/<public_id:public_id>/report/<slug:format>/",
        report.study_report_file,
        name="study_report_file",
    ),
    path(
        "launches/<public_id:public_id>/<slug:action>/", pages.launch_action, name="launch_action"
    ),
    path("planted/<public_id:public_id>/", pages.planted_recall, name="planted_recall"),
]
