"""Addresses of the API of cases, runs and evaluations.

They contain random public ids and UIDs, never text.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from accounts.api_access.access import ApiView
from timelines.api.cases import exports, listing
from timelines.api.cases import views as cases
from timelines.api.curation import views as curation
from timelines.api.evaluations import views as evaluations
from timelines.api.exports import views as exported
from timelines.api.runs import views as runs

app_name = "timelines_api"

_CASE = "cases/<public_id:case_id>/"
_TIMELINE = f"{_CASE}timelines/<public_id:timeline_id>/"
_RUN = "runs/<public_id:run_id>/"
_EXPORT = "exports/<public_id:export_id>/"
_EVALUATION = "evaluations/<public_id:evaluation_id>/"
_ADDRESSES: list[tuple[str, type[ApiView], str]] = [
    ("cases/", listing.Cases, "cases"),
    ("cases/search/", listing.CaseSearch, "case_search"),
    (f"{_CASE}timelines/", cases.CaseTimelines, "case_timelines"),
    (f"{_TIMELINE}entries/", cases.Entries, "entries"),
    (f"{_TIMELINE}chains/<uid4:uid>/", cases.EntryChain, "chain"),
    (f"{_CASE}export/<slug:form>/", exports.CaseExport, "case_export"),
    (f"{_CASE}corrections/", curation.Corrections, "corrections"),
    (f"{_CASE}comments/", curation.Comments, "comments"),
    (f"{_CASE}links/", curation.Links, "links"),
    (f"{_CASE}links/<public_id:link_id>/undo/", curation.LinkUndo, "link_undo"),
    ("runs/", runs.Runs, "runs"),
    ("runs/choices/", runs.RunChoices, "run_choices"),
    (_RUN, runs.RunOne, "run"),
    (f"{_RUN}cases/", runs.RunCases, "run_cases"),
    (f"{_RUN}cases/<public_id:case_run_id>/retry/", runs.RunCaseRetry, "run_case_retry"),
    (f"{_RUN}actions/<slug:action>/", runs.RunAction, "run_action"),
    (f"{_RUN}study-timeline/", runs.RunChosen, "run_choose"),
    (f"{_RUN}timelines/", runs.RunTimelines, "run_timelines"),
    ("exports/", exported.Exports, "exports"),
    (_EXPORT, exported.ExportOne, "export"),
    (f"{_EXPORT}actions/<slug:action>/", exported.ExportAction, "export_action"),
    (f"{_EXPORT}download/", exported.ExportDownload, "export_download"),
    ("evaluations/", evaluations.Evaluations, "evaluations"),
    ("evaluations/choices/", evaluations.EvaluationChoices, "evaluation_choices"),
    (_EVALUATION, evaluations.EvaluationOne, "evaluation"),
    (
        f"{_EVALUATION}actions/<slug:action>/",
        evaluations.EvaluationAction,
        "evaluation_action",
    ),
    (
        f"{_EVALUATION}tables/<slug:name>/<slug:form>/",
        evaluations.EvaluationTable,
        "evaluation_table",
    ),
]
urlpatterns: list[URLPattern] = [
    path(address, view.as_view(), name=name) for address, view, name in _ADDRESSES
]
