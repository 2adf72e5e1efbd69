"""Addresses of cohorts.

They contain random public ids and numbers, never text of a note or a record.
"""

from __future__ import annotations

from django.urls import path

from cohorts.routes import asof, attention, concepts, trajectories, windows
from cohorts.views.overview import overview

app_name = "cohorts"
urlpatterns = [
    path("cohorts/", overview, name="overview"),
    *concepts.urlpatterns,
    *windows.urlpatterns,
    *asof.urlpatterns,
    *trajectories.urlpatterns,
    *attention.urlpatterns,
]
