"""Reports and findings of a judge run as bodies and files.

They are unblinded: guards and exposure work as on the pages.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import ApiView, build_page_request, require_person
from accounts.api_access.tables import build_form_parameter, describe_table_files
from accounts.audit.trail import record
from adjudication.api.access import find_judge_run, find_summable_judge_run
from adjudication.api.judging import bodies
from adjudication.api.judging.views import judging_operation
from adjudication.export_files import FORMATS
from adjudication.findings.files import DICTIONARY, findings_file, games_file
from adjudication.ratings.reports import SEARCH, export_table, load_report
from adjudication.reports.league import tables
from timelines.evaluations import table_files

TABLE_FORM, TABLE_FILE = describe_table_files(table_files.FORMATS)
NAMES = [*tables.TABLES, "agreement", SEARCH]
_FORM = build_form_parameter([*FORMATS, DICTIONARY])
_FILE = {
    (200, kind.partition(";")[0]): OpenApiTypes.BINARY if form == "parquet" else OpenApiTypes.STR
    for form, (kind, *_) in FORMATS.items()
}


class JudgeReport(ApiView):
    @judging_operation("judge_run_report", bodies.JudgeReport, refuses=(409,))
    def get(self, request: Request, run_id: str) -> dict[str, Any]:
        """Return every table: ratings, errors, sensitivity, strata and more.

        Also matchups and consistency. Not available while a case of the run is closed to you. A
        worker computes the report of a large run: 409 until it is there.
        """
        run = find_summable_judge_run(request, run_id)
        report, stored = load_report(run)
        record(
            actor=require_person(request),
            study=run.study,
            action="judge.export",
            object_type="adjudication.judgerun",
            object_id=run.public_id,
        )
        return {
            "run": run.public_id,
            "computed_at": stored.computed_at,
            "newer_games": stored.newer,
            "tables": [build(report).plain() for build in tables.TABLES.values()],
        }


class JudgeReportTable(ApiView):
    @judging_operation(
        "judge_run_report_table",
        TABLE_FILE,
        refuses=(409,),
        parameters=[
            OpenApiParameter(
                "name",
                str,
                OpenApiParameter.PATH,
                enum=NAMES,
                description=(
                    "`agreement`: with another judge run. `search`: with what people found."
                ),
            ),
            TABLE_FORM,
            OpenApiParameter(
                "against",
                str,
                description=(
                    "Public id of that other run; by default the newest over the same comparisons."
                ),
            ),
        ],
    )
    def get(self, request: Request, run_id: str, name: str, form: str) -> HttpResponse:
        """Return one table as a file.

        Not available while a case of the run is closed to you.
        """
        return export_table(
            build_page_request(request), find_summable_judge_run(request, run_id), name, form
        )


class FindingsFile(ApiView):
    @judging_operation(
        "findings_file",
        _FILE,
        parameters=[
            _FORM,
            OpenApiParameter(
                "text",
                str,
                enum=["1"],
                description="Add text of notes, timelines, record and judge.",
            ),
        ],
    )
    def get(self, request: Request, run_id: str, form: str) -> StreamingHttpResponse:
        """Return findings of one judge run, both positions, game by game.

        Those of cases that are closed to you are left out.
        """
        return findings_file(build_page_request(request), find_judge_run(request, run_id), form)


class GamesFile(ApiView):
    @judging_operation("games_file", _FILE, parameters=[_FORM])
    def get(self, request: Request, run_id: str, form: str) -> StreamingHttpResponse:
        """Return games of one judge run, with or without findings.

        Ratings can be computed from this file and the file of findings. Games of cases that are
        closed to you are left out.
        """
        return games_file(build_page_request(request), find_judge_run(request, run_id), form)
