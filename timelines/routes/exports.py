"""Addresses of exports.

They contain random public ids, never text.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from timelines.views.exports import pages

urlpatterns: list[URLPattern] = [
    path("exports/", pages.exports, name="exports"),
    path("exports/new/", pages.export_new, name="export_new"),
    path("exports/<public_id:public_id>/download/", pages.export_download, name="export_download"),
    path("exports/<public_id:public_id>/<slug:action>/", pages.export_action, name="export_action"),
]
