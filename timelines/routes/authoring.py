"""Addresses of authoring: a clinician's own timeline of a case.

They contain random public ids, UIDs and row numbers, never text.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from timelines.views.authoring import agreement, consensus
from timelines.views.authoring import edits as authoring_edits
from timelines.views.authoring import evidence as authoring_evidence
from timelines.views.authoring import history as authoring_kept
from timelines.views.authoring import pages as authoring

urlpatterns: list[URLPattern] = [
    path("cases/<public_id:public_id>/author/", authoring.author_start, name="author_start"),
    path("cases/<public_id:public_id>/agreement/", agreement.show_agreement, name="agreement"),
    path(
        "cases/<public_id:public_id>/agreement/consensus/", consensus.start, name="consensus_start"
    ),
    path("consensus/<public_id:public_id>/", consensus.show, name="consensus"),
    path("consensus/<public_id:public_id>/decide/", consensus.decide, name="consensus_decide"),
    path("consensus/<public_id:public_id>/submit/", consensus.submit, name="consensus_submit"),
    path("authoring/", authoring.authorings, name="authorings"),
    path("authoring/<public_id:public_id>/", authoring.authoring, name="authoring"),
    path("authoring/<public_id:public_id>/edits/", authoring_edits.edits, name="authoring_edits"),
    path("authoring/<public_id:public_id>/time/", authoring_edits.time, name="authoring_time"),
    path("authoring/<public_id:public_id>/rows/", authoring_evidence.rows, name="authoring_rows"),
    path(
        "authoring/<public_id:public_id>/suggestions/<uid4:uid>/",
        authoring_evidence.suggestions,
        name="authoring_suggestions",
    ),
    path(
        "authoring/<public_id:public_id>/suggestions/<uid4:uid>/<number:row>/",
        authoring_evidence.suggestion,
        name="authoring_suggestion",
    ),
    path(
        "authoring/<public_id:public_id>/history/", authoring_kept.history, name="authoring_history"
    ),
    path(
        "authoring/<public_id:public_id>/download/<slug:format>/",
        authoring_kept.download,
        name="authoring_download",
    ),
    path("authoring/<public_id:public_id>/submit/", authoring.submit, name="authoring_submit"),
    path("authoring/<public_id:public_id>/reopen/", authoring.reopen, name="authoring_reopen"),
]
