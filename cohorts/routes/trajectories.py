"""Addresses of trajectories: random public ids, numbers and names of tables."""

from __future__ import annotations

from django.urls import URLPattern, path

from cohorts.views.trajectories import pages

urlpatterns: list[URLPattern] = [
    path("cohorts/trajectories/", pages.trajectories, name="trajectories"),
    path("cohorts/trajectories/view/", pages.trajectory_view, name="trajectory_view"),
    path("cohorts/trajectories/save/", pages.trajectory_save, name="trajectory_save"),
    path(
        "cohorts/trajectories/tables/<slug:name>/", pages.trajectory_table, name="trajectory_table"
    ),
    path("cohorts/trajectories/<public_id:public_id>/", pages.trajectory, name="trajectory"),
    path(
        "cohorts/trajectories/<public_id:public_id>/delete/",
        pages.trajectory_delete,
        name="trajectory_delete",
    ),
]
