"""Addresses of ratings and report files."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views.findings import download as findings_download
from adjudication.views.ratings import dashboard

urlpatterns: list[URLPattern] = [
    path("adjudication/runs/<public_id:public_id>/ratings/", dashboard.dashboard, name="dashboard"),
    path(
        "adjudication/runs/<public_id:public_id>/ratings/<slug:name>/<slug:format>/",
        dashboard.dashboard_table,
        name="dashboard_table",
    ),
    path(
        "adjudication/runs/<public_id:public_id>/findings/download/<slug:format>/",
        findings_download.findings_download,
        name="findings_download",
    ),
    path(
        "adjudication/runs/<public_id:public_id>/games/download/<slug:format>/",
        findings_download.games_download,
        name="games_download",
    ),
]
