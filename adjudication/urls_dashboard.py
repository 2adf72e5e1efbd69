"""Addresses of ratings and what they rest on."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.views import dashboard, findings_download

urlpatterns: list[URLPattern] = [
    path("adjudication/runs/<str:public_id>/ratings/", dashboard.dashboard, name="dashboard"),
    path("adjudication/runs/<str:public_id>/ratings/<str:name>/<str:format>/", dashboard.dashboard_table, name="dashboard_table"),
    path(
        "adjudication/runs/<str:public_id>/findings/download/<str:format>/", findings_download.findings_download, name="findings_download"
    ),
    path("adjudication/runs/<str:public_id>/games/download/<str:format>/", findings_download.games_download, name="games_download"),
]
