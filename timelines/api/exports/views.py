"""Exports in the API: start, follow and download them.

Only the person who started an export sees it, as on the page.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import FileResponse, Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
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
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from ehr.models import Dataset
from timelines.access.closed import closed_encounters
from timelines.api.exports import bodies
from timelines.exports import actions
from timelines.exports.access import find_export, own_exports
from timelines.exports.downloading import send_export
from timelines.exports.forms import ExportForm
from timelines.exports.lines import ExportLine, describe_exports
from timelines.models import Export, Run

export_operation = partial(operation, "exports")
#: What of a closed export depends on its cases.
COUNTS = ("lines", "size", "sha256")


class Exports(ApiView):
    @export_operation("export_list", bodies.ExportPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return your exports, newest first. For study admins."""
        studies = find_requested_studies(request, ADMINS)
        found = own_exports(build_page_request(request)).filter(study__in=studies)
        person = require_person(request)
        return load_page(
            request, found, lambda rows: list(map(_describe, describe_exports(person, rows)))
        )

    @export_operation(
        "export_start",
        bodies.Export,
        refuses=(422,),
        takes=bodies.ExportStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Start an export of a run or of a whole dataset. For study admins."""
        require_studies(request, ADMINS)
        values = read_body(bodies.ExportStart, request)
        dataset, person = _find_dataset(request, **values), require_person(request)
        form = ExportForm(
            {**values, "dataset": dataset.public_id},
            study=dataset.study,
            closed=closed_encounters(person),
        )
        check_form(form)
        return _show(request, actions.start_export(by=person, **form.cleaned_data))


class ExportOne(ApiView):
    @export_operation("export", bodies.Export)
    def get(self, request: Request, export_id: str) -> dict[str, Any]:
        """Return one of your exports."""
        return _show(request, _find(request, export_id))


class ExportAction(ApiView):
    @export_operation(
        "export_action",
        bodies.Export,
        refuses=(409, 422),
        parameters=[
            OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(actions.STEPS))
        ],
    )
    def post(self, request: Request, export_id: str, action: str) -> dict[str, Any]:
        """Pause, resume, cancel, retry or delete one of your exports."""
        export = _find(request, export_id)
        if (act := actions.STEPS.get(action)) is None:
            raise Http404
        act(export=export, by=require_person(request))
        return _show(request, _find(request, export_id))


class ExportDownload(ApiView):
    @export_operation("export_download", {(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, export_id: str) -> FileResponse:
        """Return the file. Every case in it counts as seen by you."""
        return send_export(build_page_request(request), _find(request, export_id))


def _find(request: Request, export_id: str) -> Export:
    """Return an export of this admin. Raises Http404, NotAllowed."""
    require_studies(request, ADMINS)
    return find_export(build_page_request(request), export_id)


def _find_dataset(request: Request, *, dataset: str, run: str, **_: Any) -> Dataset:
    """Return the dataset, else that of the run.

    Raises Http404, ValidationError.
    """
    studies = require_studies(request, ADMINS)
    if dataset:
        return get_object_or_404(Dataset, study__in=studies, public_id=dataset)
    if run:
        return get_object_or_404(Run, study__in=studies, public_id=run).dataset
    raise ValidationError({"dataset": ["Name a dataset or a run."]})


def _show(request: Request, export: Export) -> dict[str, Any]:
    (line,) = describe_exports(require_person(request), [export])
    return _describe(line)


def _describe(line: ExportLine) -> dict[str, Any]:
    shown = ("export", "active", "paused", "closed", "downloadable", "expires_at")
    counts = {
        name: ("" if name == "sha256" else None) if line.closed else getattr(line.export, name)
        for name in COUNTS
    }
    return {**{name: getattr(line, name) for name in shown}, **counts}
