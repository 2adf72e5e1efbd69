"""Addresses of the API of datasets and records.

They contain random public ids and numbers, never text of a record.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from ehr.api import views

app_name = "ehr_api"
_CASE = "cases/<public_id:case_id>/"
urlpatterns: list[URLPattern] = [
    path("datasets/", views.Datasets.as_view(), name="datasets"),
    path("datasets/<public_id:dataset_id>/", views.DatasetOne.as_view(), name="dataset"),
    path(_CASE, views.StayOne.as_view(), name="case"),
    path(f"{_CASE}notes/", views.Notes.as_view(), name="notes"),
    path(f"{_CASE}notes/<number:number>/", views.NoteOne.as_view(), name="note"),
    path(f"{_CASE}series/", views.Series.as_view(), name="series"),
    path(f"{_CASE}rows/", views.Rows.as_view(), name="rows"),
]
