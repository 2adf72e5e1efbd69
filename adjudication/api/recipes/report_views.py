"""The report of a launch in the API: its content and its files."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import ApiView, require_person
from adjudication.api.recipes import bodies
from adjudication.api.recipes.access import find_launch
from adjudication.api.recipes.views import recipe_operation
from adjudication.models import RecipeLaunch
from adjudication.recipes.report.files import FILES, find_written, send_file
from adjudication.recipes.report.writing import start_report

_FILE = {(200, kind): OpenApiTypes.BINARY for _, kind in FILES.values()}


class LaunchReport(ApiView):
    @recipe_operation("launch_report", bodies.StudyReport)
    def get(self, request: Request, public_id: str) -> dict[str, Any]:
        """Return the newest report: sentences, tables, figures and settings."""
        return _describe(find_launch(request, public_id))

    @recipe_operation("launch_report_start", bodies.StudyReport, status=HTTPStatus.ACCEPTED)
    def post(self, request: Request, public_id: str) -> dict[str, Any]:
        """Write a report of what the launch has made so far.

        One that is being written is returned.
        """
        found = find_launch(request, public_id)
        start_report(launch=found, by=require_person(request))
        return _describe(found)


class LaunchReportFile(ApiView):
    @recipe_operation(
        "launch_report_file",
        _FILE,
        parameters=[OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(FILES))],
    )
    def get(self, request: Request, public_id: str, form: str) -> FileResponse:
        """Return the report as PDF, or everything as an archive.

        The archive has tables as CSV and LaTeX, figures as SVG and PDF, and the recipe.
        """
        return send_file(find_launch(request, public_id), form, by=require_person(request))


def _describe(launch: RecipeLaunch) -> dict[str, Any]:
    newest = launch.reports.defer("content", "pdf", "archive").first()
    written = find_written(launch)
    return {
        "launch": launch.public_id,
        "state": newest.state if newest else None,
        "reasons": newest.reasons if newest else [],
        "written_at": written.finished_at if written else None,
        "report": written.content if written else None,
    }
