"""Evaluations in the API. The guards are those of the pages."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    build_page_request,
    check_form,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from accounts.api_access.tables import describe_table_files
from ehr.models import Dataset
from timelines.access.authoring import is_superseded
from timelines.access.closed import closed_encounters, closed_evaluations
from timelines.api.evaluations import bodies
from timelines.evaluation.plain import report_from_plain
from timelines.evaluation.tables import all_tables
from timelines.evaluation.values import Basis
from timelines.evaluations.actions import STEPS, start_evaluation
from timelines.evaluations.data import known_sources
from timelines.evaluations.forms import EvaluationForm
from timelines.evaluations.opening import chosen_basis, find_evaluation, open_evaluation
from timelines.evaluations.table_files import FORMATS, export_table
from timelines.models import Evaluation
from timelines.presentation.evaluation.result import describe_result

evaluation_operation = partial(operation, "evaluations")
BASIS = OpenApiParameter("basis", str, enum=[b.value for b in Basis], description="How paired.")
TABLE_FORM, TABLE_FILE = describe_table_files(FORMATS)


class Evaluations(ApiView):
    @evaluation_operation(
        "evaluation_list",
        bodies.EvaluationPage,
        parameters=[STUDY, LIMIT, OFFSET],
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Return the evaluations of your studies, newest first."""
        related = Evaluation.objects.select_related("study", "created_by").defer("report")
        found = related.filter(study__in=find_requested_studies(request))
        found = found.prefetch_related("datasets")
        opened = found.exclude(pk__in=closed_evaluations(require_person(request), found))
        return load_page(request, opened.order_by("-created_at", "-pk"))

    @evaluation_operation(
        "evaluation_start",
        bodies.EvaluationDetail,
        refuses=(422,),
        takes=bodies.EvaluationStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Compare timelines with a reference. For study admins."""
        require_studies(request, ADMINS)
        values = read_body(bodies.EvaluationStart, request)
        study = find_study(request, values["study"])
        form = EvaluationForm(
            {**values, "rho_sweep": ", ".join(f"{rho:g}" for rho in values["rho_sweep"])},
            study=study,
            closed=closed_encounters(require_person(request)),
        )
        check_form(form)
        if values["further_references"] and "further_references" not in form.cleaned_data:
            raise ValidationError({"further_references": ["There is only one reference."]})
        started = start_evaluation(study=study, by=require_person(request), **form.arguments())
        return _describe(request, started)


class EvaluationChoices(ApiView):
    @evaluation_operation("evaluation_choices", bodies.EvaluationChoices, parameters=[STUDY])
    def get(self, request: Request) -> dict[str, Any]:
        """Return what can be compared. For admins of the study."""
        study = find_study(request, request.query_params.get("study", ""))
        datasets = list(Dataset.objects.filter(study=study).order_by("name"))
        closed = closed_encounters(require_person(request))
        references, sources = known_sources(datasets, closed)
        return {
            "study": study.public_id,
            "datasets": datasets,
            "references": [s for s in references if not is_superseded(s)],
            "sources": [s for s in sources if not is_superseded(s)],
            "bases": [b.value for b in Basis],
        }


class EvaluationOne(ApiView):
    @evaluation_operation("evaluation", bodies.EvaluationDetail, parameters=[BASIS])
    def get(self, request: Request, evaluation_id: str) -> dict[str, Any]:
        """Return one evaluation with its figures.

        Not available while a case of it is closed to you.
        """
        require_studies(request)
        return _describe(request, open_evaluation(build_page_request(request), evaluation_id))


class EvaluationAction(ApiView):
    @evaluation_operation(
        "evaluation_action",
        bodies.EvaluationDetail,
        refuses=(409,),
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(STEPS))],
    )
    def post(self, request: Request, evaluation_id: str, action: str) -> dict[str, Any]:
        """Cancel, or retry what failed or was cancelled. For study admins."""
        require_studies(request, ADMINS)
        page = build_page_request(request)
        found = find_evaluation(page, evaluation_id, roles=ADMINS)
        if (act := STEPS.get(action)) is None:
            raise Http404
        act(job=found, by=page.user, study=found.study)
        return _describe(request, open_evaluation(page, evaluation_id))


class EvaluationTable(ApiView):
    @evaluation_operation(
        "evaluation_table",
        TABLE_FILE,
        parameters=[
            OpenApiParameter(
                "name", str, OpenApiParameter.PATH, description="`name` of one of the tables."
            ),
            TABLE_FORM,
            BASIS,
            OpenApiParameter(
                "published", str, enum=["1"], description="Add the published figures."
            ),
        ],
    )
    def get(self, request: Request, evaluation_id: str, name: str, form: str) -> HttpResponse:
        """Return one table as a file."""
        require_studies(request)
        return export_table(build_page_request(request), evaluation_id, name, form)


def _describe(request: Request, found: Evaluation) -> dict[str, Any]:
    shown = {
        name: getattr(found, name)
        for name in (
            *("public_id", "study", "label", "datasets", "reference", "further_references"),
            *("sources", "state", "progress", "reasons", "created_at", "created_by", "config"),
            "code_revision",
        )
    }
    if found.report is None:
        return {**shown, "basis": None, "bases": [], "result": "", "tables": []}
    report = report_from_plain(found.report)
    basis = chosen_basis(build_page_request(request), report)
    result = describe_result(report, basis)
    return {
        **shown,
        "basis": basis.value,
        "bases": [b.value for b in report.settings.bases],
        "result": result.sentence if result else "",
        "tables": [table.plain() for table in all_tables(report, basis)],
    }
