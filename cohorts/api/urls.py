"""Addresses of the API of cohorts.

They contain random public ids, numbers and names of tables, never text.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from accounts.api_access.access import ApiView
from cohorts.api.asof import case, leakage, reports
from cohorts.api.attention import views as attention
from cohorts.api.concepts import members
from cohorts.api.concepts import views as concepts
from cohorts.api.trajectories import views as trajectories
from cohorts.api.windows import results
from cohorts.api.windows import views as windows

app_name = "cohorts_api"

_CONCEPT = "concepts/<public_id:concept_id>/"
_WINDOW = "windows/<public_id:window_id>/"
_RESULT = "window-results/<public_id:result_id>/"
_REPORT = "as-of/<public_id:report_id>/"
_CHECK = "leakage/<public_id:check_id>/"
_TRAJECTORY = "trajectories/<public_id:trajectory_id>/"
_ADDRESSES: list[tuple[str, type[ApiView], str]] = [
    ("concepts/", concepts.Concepts, "concepts"),
    ("concepts/import/", concepts.ConceptImport, "concept_import"),
    (_CONCEPT, concepts.ConceptOne, "concept"),
    (f"{_CONCEPT}members/", members.ConceptMembers, "concept_members"),
    (f"{_CONCEPT}decisions/", members.ConceptDecisions, "concept_decisions"),
    (f"{_CONCEPT}rules/", members.ConceptRules, "concept_rules"),
    (f"{_CONCEPT}meaning/", members.ConceptMeaning, "concept_meaning"),
    (f"{_CONCEPT}versions/", members.ConceptVersions, "concept_versions"),
    (f"{_CONCEPT}versions/<number:number>/", members.ConceptVersionOne, "concept_version"),
    (f"{_CONCEPT}export/", members.ConceptExport, "concept_export"),
    ("windows/", windows.Windows, "windows"),
    ("windows/aces/", windows.AcesImport, "aces_read"),
    (_WINDOW, windows.WindowOne, "window"),
    (f"{_WINDOW}versions/", windows.WindowVersions, "window_versions"),
    (f"{_WINDOW}results/", windows.WindowResults, "window_results"),
    (f"{_WINDOW}aces/", windows.WindowAces, "window_aces"),
    (_RESULT, results.WindowResultOne, "window_result"),
    (f"{_RESULT}members/", results.WindowResultMembers, "window_members"),
    (f"{_RESULT}members/<number:number>/answer/", results.WindowMemberOne, "window_member_answer"),
    (f"{_RESULT}update/", results.WindowResultUpdate, "window_result_update"),
    (f"{_RESULT}actions/<slug:action>/", results.WindowResultAction, "window_result_action"),
    (f"{_RESULT}csv/", results.WindowResultCsv, "window_result_csv"),
    ("cases/<public_id:case_id>/as-of/", case.CaseAsOf, "case_as_of"),
    ("as-of/", reports.AsOfReports, "as_of_reports"),
    (_REPORT, reports.AsOfReportOne, "as_of_report"),
    (f"{_REPORT}cells/", reports.AsOfReportCells, "as_of_cells"),
    (f"{_REPORT}table/<slug:form>/", reports.AsOfReportTable, "as_of_table"),
    (f"{_REPORT}export/", reports.AsOfReportExport, "as_of_export"),
    ("leakage/", leakage.LeakageChecks, "leakage_checks"),
    (_CHECK, leakage.LeakageCheckOne, "leakage_check"),
    (f"{_CHECK}leaks/", leakage.LeakageLeaks, "leakage_leaks"),
    (f"{_CHECK}cells/", leakage.LeakageCells, "leakage_cells"),
    (f"{_CHECK}file/", leakage.LeakageFile, "leakage_file"),
    ("trajectories/", trajectories.Trajectories, "trajectories"),
    (_TRAJECTORY, trajectories.TrajectoryOne, "trajectory"),
    (
        f"{_TRAJECTORY}tables/<slug:table>/<slug:form>/",
        trajectories.TrajectoryTable,
        "trajectory_table",
    ),
    ("attention/", attention.Attention, "attention"),
    ("attention/rank/", attention.AttentionRank, "attention_rank"),
    ("attention/<number:number>/look/", attention.AttentionLook, "attention_look"),
    (
        "datasets/<public_id:dataset_id>/unexplained/",
        attention.Unexplained,
        "unexplained",
    ),
]
urlpatterns: list[URLPattern] = [
    path(address, view.as_view(), name=name) for address, view, name in _ADDRESSES
]
