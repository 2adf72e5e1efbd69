"""Addresses of the structured record, of imports and of datasets.

They have public ids and numbers, never text of a record.
"""

from __future__ import annotations

from django.urls import path

from ehr.views import datasets, imports, record

app_name = "ehr"
urlpatterns = [
    path("imports/", imports.imports, name="imports"),
    path("imports/new/", imports.import_new, name="import_new"),
    path("imports/<public_id:public_id>/", imports.upload, name="upload"),
    path("imports/<public_id:public_id>/settings/", imports.settings, name="upload_settings"),
    path("imports/<public_id:public_id>/reasons/", imports.reasons, name="upload_reasons"),
    path(
        "imports/<public_id:public_id>/<slug:action>/", imports.upload_action, name="upload_action"
    ),
    path("datasets/<public_id:public_id>/delete/", datasets.delete, name="dataset_delete"),
    path("datasets/deletions/<public_id:public_id>/", datasets.deletion, name="deletion"),
    path(
        "datasets/deletions/<public_id:public_id>/<slug:action>/",
        datasets.deletion_action,
        name="deletion_action",
    ),
    path("cases/<public_id:public_id>/record/", record.record, name="record"),
    path("cases/<public_id:public_id>/notes/<number:place>/", record.note, name="note"),
    path(
        "cases/<public_id:public_id>/record/series/<number:series_id>/",
        record.series_rows,
        name="series_rows",
    ),
    path("cases/<public_id:public_id>/record/untimed/", record.untimed_rows, name="untimed_rows"),
]
