"""Reports of what was known at an hour, in the API, and exports of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    build_page_request,
    check_form,
    find_requested_studies,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from accounts.api_access.tables import describe_table_files
from cohorts.api.access import build_study_request, find_dataset, find_versions
from cohorts.api.asof import bodies
from cohorts.api.asof.case import as_of_operation
from cohorts.api.asof.describing import CELL, describe_job, load_cell
from cohorts.asof.cells import load_groups
from cohorts.asof.counting import Question
from cohorts.asof.exporting import start_as_of_export
from cohorts.asof.figures import make_table
from cohorts.asof.forms import ExportForm, ReportForm
from cohorts.asof.jobs import start_report
from cohorts.asof.opening import J, find_closed_datasets, list_open_jobs, open_job
from cohorts.models import AsOfReport
from cohorts.values import Source
from timelines.evaluations.table_files import FORMATS, table_file
from timelines.models import Export

TABLE_FORM, TABLE_FILE = describe_table_files(FORMATS)


class AsOfReports(ApiView):
    @as_of_operation("as_of_list", bodies.AsOfJobPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the reports of your studies that are open to you, newest first."""
        return load_page(request, list_jobs(request, AsOfReport))

    @as_of_operation(
        "as_of_start",
        bodies.AsOfReport,
        refuses=(422,),
        takes=bodies.AsOfStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Count what was known of a dataset at an hour."""
        require_studies(request)
        values, person = read_body(bodies.AsOfStart, request), require_person(request)
        dataset = find_dataset(request, values["dataset"])
        after = [values["after"]] if values["after"] else []
        found = find_versions(dataset.study, {"after": after, "concepts": values["concepts"]})
        keys = {field: [version.pk for version in several] for field, several in found.items()}
        form = ReportForm(
            {**values, "after": keys["after"][0] if after else "", "concepts": keys["concepts"]},
            study=dataset.study,
            closed=find_closed_datasets(person, dataset.study, [dataset.pk]),
        )
        check_form(form)
        data = form.cleaned_data
        started = start_report(
            question=Question(dataset, Source(data["source"]), data["hours"], data["after"]),
            concepts=list(data.get("concepts") or ()),
            label=data["label"],
            by=person,
        )
        return describe_job(started)


class AsOfReportOne(ApiView):
    @as_of_operation("as_of", bodies.AsOfReport)
    def get(self, request: Request, report_id: str) -> dict[str, Any]:
        """Return one report. Closed as a whole while a case of its dataset is."""
        return describe_job(_open(request, report_id))


class AsOfReportCells(ApiView):
    @as_of_operation(
        "as_of_cell_list", bodies.PlacedOccurrencePage, parameters=[*CELL, LIMIT, OFFSET]
    )
    def get(self, request: Request, report_id: str) -> dict[str, Any]:
        """Return the occurrences behind a number. Each case counts as seen by you."""
        report = _open(request, report_id)
        return load_cell(request, build_study_request(request, report.study), report)


class AsOfReportTable(ApiView):
    @as_of_operation("as_of_table", TABLE_FILE, parameters=[TABLE_FORM])
    def get(self, request: Request, report_id: str, form: str) -> HttpResponse:
        """Return the figures as a file."""
        report = _open(request, report_id)
        if report.report is None:
            raise Http404
        return table_file(make_table(load_groups(report)), form, f"as-of-{report.public_id}")


class AsOfReportExport(ApiView):
    @as_of_operation(
        "as_of_export",
        bodies.AsOfExport,
        refuses=(422,),
        takes=bodies.AsOfExportStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, report_id: str) -> Export:
        """Export what was known at the hour of a report. For study admins."""
        require_studies(request, ADMINS)
        report = open_job(build_page_request(request), AsOfReport, report_id, roles=ADMINS)
        form = ExportForm(dict(read_body(bodies.AsOfExportStart, request)))
        check_form(form)
        return start_as_of_export(
            report=report,
            policy=form.policy(),
            format=form.cleaned_data["format"],
            with_note_text=form.cleaned_data["with_note_text"],
            by=require_person(request),
        )


def list_jobs(request: Request, model: type[J]) -> QuerySet[J]:
    """Return open reports or checks of the studies, newest first."""
    found = list_open_jobs(require_person(request), find_requested_studies(request), model)
    related = found.select_related("study", "dataset", "after__concept", "created_by")
    return related.defer("report").order_by("-created_at", "-pk")


def _open(request: Request, report_id: str) -> AsOfReport:
    """Return an open report. Raises NotAllowed, Http404."""
    require_studies(request)
    return open_job(build_page_request(request), AsOfReport, report_id)
