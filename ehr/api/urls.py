"""Addresses of the API of datasets and records.

They contain random public ids and numbers, never text of a record.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from ehr.api import views
from ehr.api.imports import mappings
from ehr.api.imports import views as imports
from ehr.api.removal import views as removal

app_name = "ehr_api"
_DELETION = "datasets/<public_id:dataset_id>/deletion/"
_IMPORT = "imports/<public_id:import_id>/"
_CASE = "cases/<public_id:case_id>/"
urlpatterns: list[URLPattern] = [
    path("datasets/", views.Datasets.as_view(), name="datasets"),
    path("datasets/<public_id:dataset_id>/", views.DatasetOne.as_view(), name="dataset"),
    path(_DELETION, removal.DatasetDeletions.as_view(), name="deletion"),
    path(
        f"{_DELETION}actions/<slug:action>/",
        removal.DatasetDeletionAction.as_view(),
        name="deletion_action",
    ),
    path("imports/", imports.Imports.as_view(), name="imports"),
    path("imports/mappings/", mappings.Mappings.as_view(), name="mappings"),
    path("imports/mappings/<number:mapping_id>/", mappings.MappingOne.as_view(), name="mapping"),
    path(_IMPORT, imports.ImportOne.as_view(), name="import"),
    path(f"{_IMPORT}check/", imports.ImportCheck.as_view(), name="import_check"),
    path(f"{_IMPORT}start/", imports.ImportStart.as_view(), name="import_start"),
    path(f"{_IMPORT}actions/<slug:action>/", imports.ImportAction.as_view(), name="import_action"),
    path(f"{_IMPORT}faults/", imports.ImportFaults.as_view(), name="import_faults"),
    path(_CASE, views.StayOne.as_view(), name="case"),
    path(f"{_CASE}notes/", views.Notes.as_view(), name="notes"),
    path(f"{_CASE}notes/<number:number>/", views.NoteOne.as_view(), name="note"),
    path(f"{_CASE}series/", views.Series.as_view(), name="series"),
    path(f"{_CASE}rows/", views.Rows.as_view(), name="rows"),
]
