"""Addresses of the structured record.

They have public ids and numbers, never text of a record.
"""

from __future__ import annotations

from django.urls import path

from ehr import views

app_name = "ehr"
urlpatterns = [
    path("cases/<public_id:public_id>/record/", views.record, name="record"),
    path("cases/<public_id:public_id>/notes/<number:place>/", views.note, name="note"),
    path(
        "cases/<public_id:public_id>/record/series/<number:series_id>/",
        views.series_rows,
        name="series_rows",
    ),
    path("cases/<public_id:public_id>/record/untimed/", views.untimed_rows, name="untimed_rows"),
]
