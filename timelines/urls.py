"""Addresses of cases and runs.

They contain random public ids and UIDs, never text of a note or a record.
"""

from __future__ import annotations

from django.urls import path

from timelines.routes import authoring as urls_authoring
from timelines.routes import curation as urls_curation
from timelines.routes import evaluations as urls_evaluation
from timelines.routes import exports as urls_exports
from timelines.views.cases import chain as case_chain
from timelines.views.cases import export as case_export
from timelines.views.cases import finding
from timelines.views.cases import lanes as case_lanes
from timelines.views.cases import listing as cases
from timelines.views.cases import page as case
from timelines.views.cases import search as case_search
from timelines.views.cases import story as case_story
from timelines.views.runs import calls, study_timeline
from timelines.views.runs import pages as runs

app_name = "timelines"
urlpatterns = [
    path("cases/", cases.cases, name="cases"),
    path("cases/find/", finding.case_find, name="case_find"),
    path("cases/search/", case_search.search, name="search"),
    path("cases/<public_id:public_id>/", case.case, name="case"),
    path("cases/<public_id:public_id>/lanes/", case_lanes.lanes, name="case_lanes"),
    path("cases/<public_id:public_id>/o/<uid4:uid4>/", case.case, name="occurrence"),
    path("cases/<public_id:public_id>/o/<uid4:uid4>/chain/", case_chain.chain, name="chain"),
    path(
        "cases/<public_id:public_id>/export/<slug:format>/",
        case_export.export,
        name="case_export",
    ),
    path("cases/<public_id:public_id>/o/<uid4:uid4>/pin/", case_story.pin, name="pin"),
    path("runs/", runs.runs, name="runs"),
    path("runs/new/", runs.run_new, name="run_new"),
    path("runs/<public_id:public_id>/", runs.run, name="run"),
    path(
        "runs/<public_id:public_id>/cases/<public_id:case_run_id>/retry/",
        runs.case_retry,
        name="case_retry",
    ),
    path(
        "runs/<public_id:public_id>/cases/<public_id:case_run_id>/calls/",
        calls.case_calls,
        name="case_calls",
    ),
    path("runs/<public_id:public_id>/calls/", calls.run_calls, name="run_calls"),
    path("runs/<public_id:public_id>/costs/", calls.case_costs, name="case_costs"),
    path("runs/<public_id:public_id>/costs/<slug:format>/", calls.run_costs, name="run_costs"),
    path("calls/<public_id:public_id>/", calls.call, name="model_call"),
    path(
        "runs/<public_id:public_id>/study-timeline/", study_timeline.choose, name="study_timeline"
    ),
    path("runs/<public_id:public_id>/<slug:action>/", runs.run_action, name="run_action"),
    *urls_curation.urlpatterns,
    *urls_authoring.urlpatterns,
    *urls_evaluation.urlpatterns,
    *urls_exports.urlpatterns,
]
