"""Addresses of authoring: a clinician's own timeline of a case. They carry random public ids, UIDs and row numbers, never text."""

from __future__ import annotations

from django.urls import URLPattern, path

from timelines.views import agreement, authoring, authoring_edits, authoring_evidence, authoring_kept

urlpatterns: list[URLPattern] = [
    path("cases/<str:public_id>/author/", authoring.author_start, name="author_start"),
    path("cases/<str:public_id>/agreement/", agreement.agreed, name="agreement"),
    path("authoring/", authoring.authorings, name="authorings"),
    path("authoring/<str:public_id>/", authoring.authoring, name="authoring"),
    path("authoring/<str:public_id>/edits/", authoring_edits.edits, name="authoring_edits"),
    path("authoring/<str:public_id>/time/", authoring_edits.time, name="authoring_time"),
    path("authoring/<str:public_id>/rows/", authoring_evidence.rows, name="authoring_rows"),
    path("authoring/<str:public_id>/suggestions/<str:uid>/", authoring_evidence.suggestions, name="authoring_suggestions"),
    path("authoring/<str:public_id>/suggestions/<str:uid>/<int:row>/", authoring_evidence.suggestion, name="authoring_suggestion"),
    path("authoring/<str:public_id>/history/", authoring_kept.history, name="authoring_history"),
    path("authoring/<str:public_id>/download/<str:format>/", authoring_kept.download, name="authoring_download"),
    path("authoring/<str:public_id>/submit/", authoring.submit, name="authoring_submit"),
    path("authoring/<str:public_id>/reopen/", authoring.reopen, name="authoring_reopen"),
]
