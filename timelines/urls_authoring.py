"""Addresses of authoring: a clinician's own timeline of a case. They carry random public ids, UIDs and row numbers, never text."""

from __future__ import annotations

from django.urls import URLPattern, path

from timelines.views import authoring, authoring_edits

urlpatterns: list[URLPattern] = [
    path("cases/<str:public_id>/author/", authoring.author_start, name="author_start"),
    path("authoring/", authoring.authorings, name="authorings"),
    path("authoring/<str:public_id>/", authoring.authoring, name="authoring"),
    path("authoring/<str:public_id>/edits/", authoring_edits.edits, name="authoring_edits"),
    path("authoring/<str:public_id>/time/", authoring_edits.time, name="authoring_time"),
    path("authoring/<str:public_id>/submit/", authoring.submit, name="authoring_submit"),
    path("authoring/<str:public_id>/reopen/", authoring.reopen, name="authoring_reopen"),
]
