"""Windows in the API: criteria, and evaluations of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from django.db.models import Max, Prefetch, QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from accounts.api_access.access import (
    STUDY,
    ApiView,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from accounts.permissions import CASE_READERS
from cohorts.api.access import find_dataset, find_in_studies
from cohorts.api.windows import bodies
from cohorts.engine.aces.exporting import write_aces
from cohorts.engine.aces.importing import read_aces
from cohorts.engine.writing import write_window
from cohorts.models import ConceptVersion, Window, WindowResult, WindowVersion
from cohorts.values import Source
from cohorts.windows.actions import create_window, save_version
from cohorts.windows.exchange import codes_of
from cohorts.windows.finding import describe_version
from cohorts.windows.results import launch_result
from cohorts.windows.stored import read_stored

window_operation = partial(operation, "windows")


class Windows(ApiView):
    @window_operation("window_list", bodies.WindowPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the windows of your studies that are not put away."""
        found = _windows().filter(
            study__in=find_requested_studies(request), archived_at__isnull=True
        )
        return load_page(request, found.order_by("study__name", "name", "pk"))

    @window_operation(
        "window_create",
        bodies.WindowDetail,
        refuses=(422,),
        takes=bodies.WindowStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Save criteria as a window, with the newest version of each concept."""
        require_studies(request)
        values, person = read_body(bodies.WindowStart, request), require_person(request)
        study = find_study(request, values["study"], CASE_READERS)
        made = create_window(study=study, yaml=values["yaml"], by=person)
        return _describe(_windows().get(pk=made.pk))


class WindowOne(ApiView):
    @window_operation("window", bodies.WindowDetail)
    def get(self, request: Request, window_id: str) -> dict[str, Any]:
        """Return one window with its versions."""
        return _describe(_find(request, window_id))


class WindowVersions(ApiView):
    @window_operation(
        "window_version_save",
        bodies.WindowVersion,
        refuses=(422,),
        takes=bodies.WindowEdit,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, window_id: str) -> dict[str, Any]:
        """Save other criteria; the newest version if nothing differs from it."""
        window, values = _find(request, window_id), read_body(bodies.WindowEdit, request)
        made = save_version(window=window, yaml=values["yaml"], by=require_person(request))
        return _describe_version(made)


class WindowResults(ApiView):
    @window_operation("window_result_list", bodies.WindowResultPage, parameters=[LIMIT, OFFSET])
    def get(self, request: Request, window_id: str) -> dict[str, Any]:
        """Return the results of a window, newest first."""
        return load_page(request, list_results().filter(version__window=_find(request, window_id)))

    @window_operation(
        "window_evaluate",
        bodies.WindowResult,
        refuses=(422,),
        takes=bodies.ResultStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, window_id: str) -> WindowResult:
        """Evaluate the newest version over a dataset."""
        window, values = _find(request, window_id), read_body(bodies.ResultStart, request)
        return launch_result(
            version=window.versions.latest("number"),
            dataset=find_dataset(request, values["dataset"]),
            first=Source(values["first"]),
            second=Source(values["second"]),
            by=require_person(request),
        )


class WindowAces(ApiView):
    @window_operation("window_aces", {(200, "application/yaml"): OpenApiTypes.STR}, refuses=(422,))
    def get(self, request: Request, window_id: str) -> HttpResponse:
        """Return the newest version as a task of ACES.

        422 says what ACES cannot say.
        """
        window = _find(request, window_id)
        criteria = read_stored(window.versions.latest("number")).criteria
        text = write_aces(criteria, codes=codes_of(window.study))
        response = HttpResponse(text, content_type="application/yaml; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="task.yaml"'
        return response


class AcesImport(ApiView):
    @window_operation("aces_read", bodies.AcesWindow, refuses=(422,), takes=bodies.AcesStart)
    def post(self, request: Request) -> dict[str, Any]:
        """Return a task of ACES as criteria. Save them as a window to use them."""
        require_studies(request)
        values = read_body(bodies.AcesStart, request)
        codes = codes_of(find_study(request, values["study"], CASE_READERS))
        read = read_aces(values["task"], codes=codes, name=values["name"])
        return {"yaml": write_window(read.window), "notes": read.notes}


def list_results() -> QuerySet[WindowResult]:
    """Return all results with what their bodies show, newest first."""
    found = WindowResult.objects.select_related("version__window__study", "dataset", "created_by")
    return found.defer("report").order_by("-created_at", "-pk")


def _windows() -> QuerySet[Window]:
    found = Window.objects.select_related("study", "created_by")
    return found.annotate(version=Max("versions__number"))


def _find(request: Request, window_id: str) -> Window:
    return find_in_studies(request, _windows(), window_id)


def _describe(window: Window) -> dict[str, Any]:
    shown: Sequence[str] = ("public_id", "study", "name", "version", "created_at", "created_by")
    concepts = ConceptVersion.objects.select_related("concept").order_by("concept__name")
    versions = window.versions.select_related("created_by").prefetch_related(
        Prefetch("concepts", concepts)
    )
    return {
        **{name: getattr(window, name) for name in shown},
        "versions": [_describe_version(version) for version in versions],
    }


def _describe_version(version: WindowVersion) -> dict[str, Any]:
    shown = ("number", "yaml", "created_at", "created_by")
    return {
        **{name: getattr(version, name) for name in shown},
        "words": describe_version(version),
        "concepts": version.concepts.all(),
    }
