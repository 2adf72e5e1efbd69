"""The report of a launch: page, PDF, archive, and single tables."""

from __future__ import annotations

from itertools import count
from typing import Any

from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import Role
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.recipes import find_launch
from adjudication.models import StudyReport
from adjudication.recipes.report.files import find_written, send_file
from adjudication.recipes.report.writing import start_report
from adjudication.study_report.drawing import draw_svg
from adjudication.study_report.values import from_plain
from jobs.models import JobState
from timelines.evaluation.published import MARK
from timelines.evaluation.tables import Table, format_words

#: Tables with more rows are folded.
LONG = 20


@require_GET
@study_role_required(Role.ADMIN)
def study_report(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the newest report of a launch; htmx polls while one is written."""
    launch = find_launch(request, public_id)
    newest = launch.reports.defer("pdf", "archive").first()
    written = find_written(launch)
    writing = newest is not None and newest.state in (JobState.QUEUED, JobState.RUNNING)
    if request.htmx and not writing:  # type: ignore[attr-defined]  # by django-htmx
        response = HttpResponse()
        response["HX-Refresh"] = "true"
        return response
    context = {
        "launch": launch,
        "job": newest,
        "writing": writing,
        "written": written,
        **_show(written),
    }
    part = "_report_progress" if request.htmx else "report"  # type: ignore[attr-defined]  # as above
    return render(request, f"adjudication/recipes/{part}.html", context)


@require_POST
@study_role_required(Role.ADMIN)
def study_report_new(request: StudyRequest, public_id: str) -> HttpResponse:
    """Write a report of what the launch has made so far."""
    start_report(launch=find_launch(request, public_id), by=request.user)
    return redirect("adjudication:study_report", public_id)


@require_GET
@study_role_required(Role.ADMIN)
def study_report_file(request: StudyRequest, public_id: str, format: str) -> FileResponse:
    """Send the newest report as PDF, or everything as an archive."""
    return send_file(find_launch(request, public_id), format, by=request.user)


@require_GET
@study_role_required(Role.ADMIN)
def study_report_figure(request: StudyRequest, public_id: str, number: int) -> HttpResponse:
    """Send a figure of the newest report as SVG.

    `number` counts all figures from 1.
    """
    launch = find_launch(request, public_id)
    written = find_written(launch)
    if written is None or written.content is None:
        raise Http404
    figures = [f for s in from_plain(written.content).sections for f in s.figures]
    if not 1 <= number <= len(figures):
        raise Http404
    return HttpResponse(draw_svg(figures[number - 1]), content_type="image/svg+xml")


def _show(written: StudyReport | None) -> dict[str, Any]:
    """Return the report as its template needs it.

    Cells are words; figures and tables are numbered through the report.
    """
    if written is None or written.content is None:
        return {"report": None}
    report = from_plain(written.content)
    figures, tables = count(1), count(1)
    sections = [
        {
            "name": section.name,
            "title": section.title,
            "missing": section.missing,
            "leads": section.leads,
            "found": section.found,
            "figures": [(next(figures), figure) for figure in section.figures],
            "tables": [_show_table(table, next(tables)) for table in section.tables],
        }
        for section in report.sections
    ]
    return {"report": report, "sections": sections}


def _show_table(table: Table, number: int) -> dict[str, Any]:
    rows = [[format_words(cell) for cell in row] for row in table.rows]
    return {
        "title": table.title,
        "label": f"Table {number}: {table.title}",
        "heads": table.heads,
        "long": len(rows) > LONG,
        "rows": [(f"({MARK})" in row[0], row) for row in rows],
    }
