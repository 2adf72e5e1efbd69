"""Leakage checks in the API."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request

from accounts.api_access.access import (
    STUDY,
    ApiView,
    build_page_request,
    check_form,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from cohorts.api.access import build_study_request, find_dataset, find_versions
from cohorts.api.asof import bodies
from cohorts.api.asof.case import as_of_operation
from cohorts.api.asof.describing import CELL, describe_job, describe_place, load_cell
from cohorts.api.asof.reports import list_jobs
from cohorts.asof.forms import CheckForm
from cohorts.asof.jobs import start_check
from cohorts.asof.leaks import Leak, describe_leaks, write_leaks
from cohorts.asof.opening import find_closed_datasets, open_job
from cohorts.exposing import expose
from cohorts.models import LeakageCheck
from cohorts.values import Source


class LeakageChecks(ApiView):
    @as_of_operation("leakage_list", bodies.AsOfJobPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the checks of your studies that are open to you, newest first."""
        return load_page(request, list_jobs(request, LeakageCheck).defer("report", "features"))

    @as_of_operation(
        "leakage_start",
        bodies.LeakageCheck,
        refuses=(422,),
        takes=bodies.LeakageStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Check features, or a rule, against what was known when they are used."""
        require_studies(request)
        values, person = read_body(bodies.LeakageStart, request), require_person(request)
        dataset = find_dataset(request, values["dataset"])
        after = [values["after"]] if values["after"] else []
        found = find_versions(dataset.study, {"after": after})["after"]
        form = CheckForm(
            {**values, "after": found[0].pk if found else ""},
            study=dataset.study,
            closed=find_closed_datasets(person, dataset.study, [dataset.pk]),
        )
        check_form(form)
        data = form.cleaned_data
        started = start_check(
            dataset=dataset,
            source=Source(data["source"]),
            features=data["features"],
            hours=data["hours"],
            after=data["after"],
            label=data["label"],
            by=person,
        )
        return _describe(started)


class LeakageCheckOne(ApiView):
    @as_of_operation("leakage", bodies.LeakageCheck)
    def get(self, request: Request, check_id: str) -> dict[str, Any]:
        """Return one check. Closed as a whole while a case of its dataset is."""
        return _describe(_open(request, check_id))


class LeakageLeaks(ApiView):
    @as_of_operation("leakage_leak_list", bodies.LeakPage, parameters=[LIMIT, OFFSET])
    def get(self, request: Request, check_id: str) -> dict[str, Any]:
        """Return the features that leak, with sentence and row.

        Each case counts as seen by you.
        """
        check = _open_features(request, check_id)

        def describe(stored: list[dict[str, Any]]) -> list[dict[str, Any]]:
            leaks = describe_leaks(stored)
            _expose(request, check, leaks)
            return [_describe_leak(leak) for leak in leaks]

        return load_page(request, (check.report or {})["leaks"], describe)


class LeakageCells(ApiView):
    @as_of_operation(
        "leakage_cell_list", bodies.PlacedOccurrencePage, parameters=[*CELL, LIMIT, OFFSET]
    )
    def get(self, request: Request, check_id: str) -> dict[str, Any]:
        """Return the occurrences behind a number of a check by a rule.

        Each case counts as seen by you.
        """
        check = _open(request, check_id)
        return load_cell(request, build_study_request(request, check.study), check)


class LeakageFile(ApiView):
    @as_of_operation("leakage_file", {(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, check_id: str) -> HttpResponse:
        """Return the features that leak as CSV. Each case counts as seen by you."""
        check = _open_features(request, check_id)
        leaks = describe_leaks((check.report or {})["leaks"])
        _expose(request, check, leaks)
        response = HttpResponse(write_leaks(leaks), content_type="text/csv; charset=utf-8")
        name = f"leakage-{check.public_id}.csv"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response


def _open(request: Request, check_id: str) -> LeakageCheck:
    """Return an open check. Raises NotAllowed, Http404."""
    require_studies(request)
    return open_job(build_page_request(request), LeakageCheck, check_id)


def _open_features(request: Request, check_id: str) -> LeakageCheck:
    """Return an open check of features that is done.

    Raises NotAllowed, Http404.
    """
    check = _open(request, check_id)
    if check.report is None or not check.features:
        raise Http404
    return check


def _expose(request: Request, check: LeakageCheck, leaks: list[Leak]) -> None:
    page = build_study_request(request, check.study)
    expose(page, [leak.encounter.public_id for leak in leaks if leak.encounter])


def _describe(check: LeakageCheck) -> dict[str, Any]:
    counts = (check.report or {}).get("counts", {})
    return {**describe_job(check), "features": len(check.features), "counts": counts}


def _describe_leak(leak: Leak) -> dict[str, Any]:
    shown = ("line", "name", "hours", "state", "finding", "lost")
    return {
        **{name: getattr(leak, name) for name in shown},
        "case": leak.encounter.public_id if leak.encounter else None,
        "case_id": leak.encounter.case_id if leak.encounter else "",
        "used": [describe_place(placed) for placed in leak.used],
    }
