"""Addresses of evaluations.

They contain random public ids, names of tables and numbers, never text of a note or a record.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from timelines.views.evaluations import case as evaluation_case
from timelines.views.evaluations import funnel as evaluation_funnel
from timelines.views.evaluations import listing as evaluations
from timelines.views.evaluations import report as evaluation

urlpatterns: list[URLPattern] = [
    path("evaluations/", evaluations.evaluations, name="evaluations"),
    path("evaluations/new/", evaluations.evaluation_new, name="evaluation_new"),
    path("evaluations/<public_id:public_id>/", evaluation.evaluation, name="evaluation"),
    path(
        "evaluations/<public_id:public_id>/tables/<slug:name>/<slug:format>/",
        evaluation.evaluation_table,
        name="evaluation_table",
    ),
    path(
        "evaluations/<public_id:public_id>/cases/<public_id:case_id>/",
        evaluation_case.evaluation_case,
        name="evaluation_case",
    ),
    path(
        "evaluations/<public_id:public_id>/funnel/",
        evaluation_funnel.evaluation_funnel,
        name="evaluation_funnel",
    ),
    path(
        "evaluations/<public_id:public_id>/<slug:action>/",
        evaluations.evaluation_action,
        name="evaluation_action",
    ),
]
